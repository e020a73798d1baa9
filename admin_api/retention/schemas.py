"""Bodies about retention, legal holds and erasure."""

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field

from admin_api.identifiers import ActionId
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix, id_pattern, parse_id
from headgate.retention.erasure import MOST_AT_ONCE
from headgate.retention.model import ErasureDepth, ErasureOutcome, HoldScope, LegalHold

type RetentionReason = Annotated[
    StorableText, Field(min_length=3, max_length=500, json_schema_extra={"pattern": r"^[^\u0000]*$"})
]

_TARGETS: Final = {HoldScope.AGENT: IdPrefix.AGENT, HoldScope.ACTION: IdPrefix.ACTION}


_TARGET_OF_SCOPE: Final[dict[str, Any]] = {
    "examples": [{"scope": "organization", "reason": "A dispute with a supplier"}],
    "oneOf": [
        {
            "required": ["target"],
            "properties": {
                "scope": {"const": scope.value},
                "target": {"type": "string", "pattern": id_pattern(prefix)},
            },
        }
        for scope, prefix in _TARGETS.items()
    ]
    + [{"properties": {"scope": {"const": HoldScope.ORGANIZATION.value}, "target": {"type": "null"}}}],
}


class HoldRequest(BaseModel):
    """POST /admin/retention/holds."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_TARGET_OF_SCOPE)

    scope: HoldScope
    target: str | None = Field(
        default=None, max_length=64, description="The id of the agent or action. Not for the organization."
    )
    reason: RetentionReason

    def checked_target(self) -> str | None:
        """Raises ValidationError."""
        prefix = _TARGETS.get(self.scope)
        if (prefix is None) != (self.target is None):
            raise ValidationError(
                "target: give the id if the scope is agent or action, otherwise omit it",
                details={"field": "target", "reason": "does not fit the scope"},
            )
        return None if prefix is None or self.target is None else parse_id(prefix, self.target, "target")


class LiftRequest(BaseModel):
    """``reason``: the reason to lift the hold, not the reason why it was placed."""

    model_config = ConfigDict(extra="forbid")

    reason: RetentionReason


class ErasureRequest(BaseModel):
    """POST /admin/retention/erasures."""

    model_config = ConfigDict(extra="forbid")

    action_ids: list[ActionId] = Field(min_length=1, max_length=MOST_AT_ONCE)
    depth: ErasureDepth = ErasureDepth.BODIES
    reason: RetentionReason


class HoldAnswer(BaseModel):
    """``lifted_at`` null: in force."""

    id: str
    scope: HoldScope
    target: str | None
    reason: str
    placed_by: str
    placed_at: datetime
    lifted_by: str | None
    lifted_at: datetime | None
    lift_reason: str | None


class HoldsAnswer(BaseModel):
    """The newest first."""

    data: list[HoldAnswer]


class ErasedAction(BaseModel):
    action_id: str
    outcome: ErasureOutcome


class ErasureAnswer(BaseModel):
    """The outcome for each action, in the order of the request."""

    depth: ErasureDepth
    actions: list[ErasedAction]


def hold_answer(hold: LegalHold) -> HoldAnswer:
    return HoldAnswer(
        id=hold.hold_id,
        scope=hold.scope,
        target=hold.target,
        reason=hold.reason,
        placed_by=hold.placed_by,
        placed_at=hold.placed_at,
        lifted_by=hold.lifted_by,
        lifted_at=hold.lifted_at,
        lift_reason=hold.lift_reason,
    )
