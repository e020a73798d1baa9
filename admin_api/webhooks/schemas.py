"""Bodies about webhook endpoints."""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field, StrictBool, WithJsonSchema

from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.kernel.secrets import Secret
from headgate.webhooks.model import DEFAULT_EVENTS, SUBSCRIBABLE, Endpoint, WebhookEvent

type Description = Annotated[StorableText, Field(max_length=1024)]
type EndpointUrl = Annotated[str, Field(min_length=1, max_length=2048)]

_Subscribed = Annotated[str, WithJsonSchema({"type": "string", "enum": [one.value for one in SUBSCRIBABLE]})]


class NewEndpoint(BaseModel):
    """POST /admin/webhooks. ``events`` left out: those of approvals."""

    model_config = ConfigDict(extra="forbid")

    url: EndpointUrl
    description: Description | None = None
    events: list[_Subscribed] = Field(
        default_factory=lambda: [one.value for one in DEFAULT_EVENTS], max_length=50, json_schema_extra={"minItems": 1}
    )
    enabled: StrictBool = True


class EndpointChange(BaseModel):
    """PATCH /admin/webhooks/{id}: what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    url: EndpointUrl | None = None
    description: Description | None = None
    events: list[_Subscribed] | None = Field(default=None, max_length=50, json_schema_extra={"minItems": 1})
    enabled: StrictBool | None = None


class SecretRotation(BaseModel):
    """POST /admin/webhooks/{id}/rotate-secret. During the overlap both secrets sign."""

    model_config = ConfigDict(extra="forbid")

    overlap_seconds: int = Field(default=24 * 3600, ge=0, le=30 * 24 * 3600)


class EndpointAnswer(BaseModel):
    """``disabled_reason``: why Headgate itself disabled it. ``failing_since``: nothing has arrived since then."""

    id: str
    url: str
    description: str | None
    events: list[WebhookEvent]
    enabled: bool
    disabled_reason: str | None
    failing_since: datetime | None
    previous_secret_until: datetime | None
    created_by: str | None
    created_at: datetime
    updated_at: datetime


class EndpointWithSecretAnswer(EndpointAnswer):
    secret: str = Field(description="Shown this once: whsec_ and base64, as Standard Webhooks libraries take it.")


def endpoint_answer(endpoint: Endpoint) -> EndpointAnswer:
    return EndpointAnswer(
        id=endpoint.endpoint_id,
        url=endpoint.url,
        description=endpoint.description,
        events=list(endpoint.events),
        enabled=endpoint.enabled,
        disabled_reason=endpoint.disabled_reason,
        failing_since=endpoint.failing_since,
        previous_secret_until=endpoint.previous_secret_until,
        created_by=endpoint.created_by,
        created_at=endpoint.created_at,
        updated_at=endpoint.updated_at,
    )


def endpoint_with_secret(endpoint: Endpoint, secret: Secret) -> EndpointWithSecretAnswer:
    return EndpointWithSecretAnswer(**endpoint_answer(endpoint).model_dump(), secret=secret.reveal())
