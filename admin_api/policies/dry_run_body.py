"""Bodies of /v1/dry-run and /admin/policies/{id}/simulate: the call that nobody makes."""

import base64
import binascii
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, StrictBool, model_validator

from admin_api.description.choices import at_most_one, exactly_one
from admin_api.identifiers import AgentId
from admin_api.json_values import WholeNumber
from admin_api.schema import BaseModel
from headgate.gate.dry_run import HypotheticalCall, http_call_of
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ValidationError
from headgate.policies.model import REGO_MAX_BYTES

_URL_MAX_CHARACTERS = 16_384
_ONLY_OF_ACTIONS: Final = frozenset(("tool", "operation", "params"))
_ALIASES: Final = frozenset(("content",))


class HttpRequest(BaseModel):
    """A request as an agent would send it through the proxy."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=at_most_one(body="string", body_base64="string"))

    method: str = Field(default="GET", min_length=1, max_length=32)
    url: str = Field(min_length=1, max_length=_URL_MAX_CHARACTERS)
    headers: dict[str, str] = Field(default_factory=dict, max_length=200)
    body: str | None = None
    body_base64: str | None = Field(default=None, description="Instead of body, for binary content.")

    def bytes_of_body(self) -> bytes:
        if self.body is not None and self.body_base64 is not None:
            raise ValidationError("http: body or body_base64, not both", details={"field": "http.body"})
        if self.body_base64 is None:
            return (self.body or "").encode()
        try:
            return base64.b64decode(self.body_base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValidationError(
                "http.body_base64 is not base64 (RFC 4648)", details={"field": "http.body_base64", "reason": str(error)}
            ) from error


class DryRunBody(BaseModel):
    """POST /v1/dry-run: ``action``, the body of POST /v1/actions, or ``http``.

    The action may also stand in ``input`` (as policies see it), in ``input.action``, or be the body itself.
    """

    model_config = ConfigDict(
        extra="forbid", json_schema_extra=exactly_one(action="object", input="object", http="object")
    )

    action: dict[str, Any] | None = Field(
        default=None,
        description="The body of POST /v1/actions.",
        examples=[{"tool": "github", "operation": "create_issue", "params": {"repo": "example/shop"}}],
    )
    input: dict[str, Any] | None = Field(default=None, description="The action, or an object with a member action.")
    http: HttpRequest | None = None
    agent_id: AgentId | None = Field(default=None, description="The agent of the call. Default: an unknown agent.")
    trace: StrictBool = Field(default=False, description="With the value of every rule.")
    judges: StrictBool = Field(
        default=True,
        description="false: Headgate does not call language models and skips content policies that need one.",
    )

    @model_validator(mode="before")
    @classmethod
    def _the_action_itself(cls, body: Any) -> Any:
        if not isinstance(body, dict) or not _ONLY_OF_ACTIONS & body.keys() or "action" in body:
            return body
        others = cls.model_fields.keys() | _ALIASES
        action = {name: value for name, value in body.items() if name not in others}
        return {**{name: value for name, value in body.items() if name in others}, "action": action}

    @model_validator(mode="after")
    def _one_call(self) -> "DryRunBody":
        if [self.action, self.input, self.http].count(None) != 2:
            raise ValueError("Give exactly one of action, input and http.")
        return self

    def call(self) -> HypotheticalCall:
        """Raises ValidationError."""
        http = self.http
        sent = None if http is None else http_call_of(http.method, http.url, http.headers, http.bytes_of_body())
        action: JsonObject | None = self.action if self.input is None else _action_in(self.input)
        return HypotheticalCall(action, sent, self.agent_id)


def _action_in(policy_input: dict[str, Any]) -> JsonObject:
    if "action" not in policy_input:
        return policy_input
    action = policy_input["action"]
    if len(policy_input) != 1 or not isinstance(action, dict):
        raise ValidationError("input: the action, or {action: the action}", details={"field": "input"})
    return action


class SimulationBody(DryRunBody):
    """POST /admin/policies/{id}/simulate: the same, of one policy: the saved one, a version of it, or a draft."""

    rego_policy: str | None = Field(default=None, min_length=1, max_length=REGO_MAX_BYTES)
    version: Annotated[WholeNumber, Field(ge=1)] | None = Field(default=None)

    @model_validator(mode="before")
    @classmethod
    def _names(cls, body: Any) -> Any:
        if isinstance(body, dict) and "content" in body and "rego_policy" not in body:
            return {("rego_policy" if name == "content" else name): value for name, value in body.items()}
        return body

    @model_validator(mode="after")
    def _one_text(self) -> "SimulationBody":
        if self.rego_policy is not None and self.version is not None:
            raise ValueError("rego_policy or version, not both")
        return self
