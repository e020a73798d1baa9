"""What the routes of integrations answer; their settings' form is made from the table (``integrations.form``)."""

from datetime import datetime
from typing import Any

from pydantic import Field

from admin_api.schema import BaseModel
from headgate.integrations.form import IntegrationSettings, body_schema
from headgate.integrations.model import ReceiptOutcome


class IntegrationTestAnswer(BaseModel):
    """``ok`` false: ``error`` is the status of the platform or the connection error, ``message`` its text."""

    ok: bool
    account: str | None = Field(description="Name of the account on the platform.")
    error: str | None
    status_code: int | None
    message: str | None
    latency_ms: float


class ReceiptAnswer(BaseModel):
    """Something that came in. ``account``: who did it, as the platform calls them; ``message``: why nothing was
    decided."""

    id: str
    received_at: datetime
    outcome: ReceiptOutcome
    approval_id: str | None
    account: str | None
    message: str | None


class ReceiptsAnswer(BaseModel):
    data: list[ReceiptAnswer]


def request_description(cls: type[IntegrationSettings]) -> dict[str, Any]:
    """For the interface's description: the body of PUT."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": body_schema(cls)}}}}


def answer_description(cls: type[IntegrationSettings]) -> dict[int | str, dict[str, Any]]:
    """For the interface's description: what GET and PUT answer."""
    body: dict[str, Any] = body_schema(cls)
    properties = {name: one for name, one in body["properties"].items() if name not in cls.SECRETS}
    for name in cls.SECRETS:
        properties[f"has_{name}"] = {"type": "boolean"}
    properties |= {
        "configured": {"type": "boolean", "description": "False where it was never set."},
        "version": {"type": "integer", "minimum": 0},
        "updated_at": {"type": ["string", "null"], "format": "date-time"},
        "updated_by": {"type": ["string", "null"]},
        "webhook_path": {
            "type": ["string", "null"],
            "description": "Where the platform's webhooks go, behind the address at which it reaches Headgate.",
        },
    }
    for one in properties.values():
        if isinstance(one.get("type"), str) and one["type"] in ("string", "array", "object"):
            one["type"] = [one["type"], "null"]
    schema = {"type": "object", "properties": properties, "required": sorted(properties)}
    return {200: {"description": "Secrets are not shown.", "content": {"application/json": {"schema": schema}}}}
