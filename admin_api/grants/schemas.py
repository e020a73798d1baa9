"""Bodies about grants (docs/guides/grants.md)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, StrictFloat, StrictInt

from admin_api.description.choices import exactly_one
from admin_api.identifiers import AgentId, CallName, PolicyId
from admin_api.instants import Instant
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.grants.conditions import (
    AMOUNT_MAX,
    CONDITIONS_MAX,
    PARAM_MAX_CHARACTERS,
    amount_of,
    parse_conditions,
    parse_param,
)
from headgate.grants.granting import Bounds
from headgate.grants.model import REASON_MAX_CHARACTERS, USES_MAX, Grant, Scope
from headgate.grants.store import GrantUse
from headgate.grants.stored_form import scope_record
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ValidationError

type GrantReason = Annotated[StorableText, Field(min_length=1, max_length=REASON_MAX_CHARACTERS)]

_CONDITIONS: Final = "All must hold."
_POLICIES_MAX: Final = 100
_Amount = Annotated[StrictInt | StrictFloat, Field(json_schema_extra={"minimum": -AMOUNT_MAX, "maximum": AMOUNT_MAX})]
_Param = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": PARAM_MAX_CHARACTERS})]


_TESTS: Final = ("equals", "one_of", "prefix", "matches", "at_least", "at_most")
_RANGE: Final = _TESTS[-2:]


def _only(*names: str) -> dict[str, Any]:
    return {"properties": {name: False for name in _TESTS if name not in names}}


_ONE_TEST: Final[list[Any]] = [
    *({"required": [name], **_only(name)} for name in _TESTS[:-2]),
    {"anyOf": [{"required": [name]} for name in _RANGE], **_only(*_RANGE)},
]


class ConditionBody(BaseModel):
    """``param`` and one of the others, or ``at_least`` and ``at_most`` together."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"oneOf": _ONE_TEST})

    param: _Param = Field(description="A name, or a JSON Pointer if it begins with /.")
    equals: Any = None
    one_of: list[Any] | None = None
    prefix: str | None = None
    matches: str | None = Field(default=None, description="RE2. It must match the whole text.")
    at_least: _Amount | None = None
    at_most: _Amount | None = None

    def given(self) -> JsonObject:
        return self.model_dump(exclude_unset=True)


class SumBound(BaseModel):
    """Limit for the sum of one numeric param over all uses."""

    model_config = ConfigDict(extra="forbid")

    param: _Param
    at_most: _Amount


class _Bounds(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra=exactly_one(expires_at="string", expires_in_seconds="integer")
    )

    max_uses: int = Field(ge=1, le=USES_MAX)
    expires_at: Instant | None = None
    expires_in_seconds: int | None = Field(default=None, ge=1, description="Instead of expires_at.")
    sum: SumBound | None = None
    reason: GrantReason

    def bounds(self, now: datetime) -> Bounds:
        """Raises ValidationError."""
        if (self.expires_at is None) == (self.expires_in_seconds is None):
            raise ValidationError(
                "a grant ends: give expires_at or expires_in_seconds, one of them", details={"field": "expires_at"}
            )
        expires_at = self.expires_at
        if expires_at is None:
            expires_at = now + timedelta(seconds=min(self.expires_in_seconds or 0, 10**9))
        return Bounds(expires_at, self.max_uses, self._max_sum(), self.reason)

    def _max_sum(self) -> Decimal | None:
        if self.sum is None:
            return None
        most = amount_of(self.sum.at_most)
        if most is None:
            raise ValidationError("at_most must be a number", details={"field": "sum.at_most"})
        return most

    def scope(self, conditions: Sequence[ConditionBody] | None, digest: bytes | None) -> Scope:
        """Raises ValidationError."""
        sum_param = None if self.sum is None else parse_param(self.sum.param, "sum.param")
        if conditions is None:
            return Scope(digest=digest, sum_param=sum_param)
        return Scope(conditions=parse_conditions([one.given() for one in conditions]), sum_param=sum_param)


class NewGrant(_Bounds):
    """POST /admin/grants."""

    agent_id: AgentId
    tool: CallName
    operation: CallName
    conditions: list[ConditionBody] = Field(
        max_length=CONDITIONS_MAX, description=_CONDITIONS + " An empty list: any params."
    )
    policy_ids: list[PolicyId] | None = Field(
        default=None,
        min_length=1,
        max_length=_POLICIES_MAX,
        description="The rule policies that the grant satisfies. Default: the policies that are enabled now.",
    )


class ApproveAndGrant(_Bounds):
    """POST /v1/approvals/{id}/grant."""

    comment: Annotated[StorableText, Field(max_length=REASON_MAX_CHARACTERS)] | None = None
    digest: Annotated[str, Field(pattern=r"^(sha256:)?[0-9a-f]{64}$")] | None = Field(
        default=None, description="Digest of the action as shown. Required if a reviewer has edited it."
    )
    conditions: list[ConditionBody] | None = Field(
        default=None,
        max_length=CONDITIONS_MAX,
        description=_CONDITIONS + " Default: only the approved call, identical to the byte.",
    )


class GranterAnswer(BaseModel):
    user_id: str
    email: str | None
    at: datetime


class SumAnswer(BaseModel):
    param: _Param
    at_most: float
    used: float


class GrantAnswer(BaseModel):
    """``status``: active, exhausted, expired or revoked. ``digest`` is null if ``conditions`` select the calls."""

    id: str
    status: str
    agent_id: str
    agent_name: str | None
    tool: str
    operation: str
    conditions: list[JsonObject] | None
    digest: str | None
    policy_ids: list[str]
    granters: list[GranterAnswer]
    max_uses: int
    uses: int
    sum: SumAnswer | None
    reason: str
    approval_id: str | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    revoked_by: str | None
    revoke_reason: str | None


class GrantUseAnswer(BaseModel):
    action_id: str
    execution_id: str | None
    amount: float
    used_at: datetime
    given_back_at: datetime | None = Field(
        description="The use was released, because nothing was sent. It does not count."
    )


class GrantDetailAnswer(GrantAnswer):
    newest_uses: list[GrantUseAnswer]


class GrantedAnswer(BaseModel):
    """The approval is approved, and the grant is in force."""

    approval_id: str
    status: str
    grant: GrantAnswer


def grant_answer(grant: Grant, agent_name: str | None, now: datetime) -> GrantAnswer:
    scope = scope_record(grant.scope)
    conditions, digest = scope.get("conditions"), scope.get("digest")
    return GrantAnswer(
        id=grant.grant_id,
        status=grant.status(now).value,
        agent_id=grant.agent_id,
        agent_name=agent_name,
        tool=grant.tool,
        operation=grant.operation,
        conditions=[one for one in conditions if isinstance(one, dict)] if isinstance(conditions, list) else None,
        digest=digest if isinstance(digest, str) else None,
        policy_ids=sorted(grant.policy_ids),
        granters=[GranterAnswer(user_id=one.voter_id, email=one.email, at=one.at) for one in grant.granters],
        max_uses=grant.max_uses,
        uses=grant.uses,
        sum=_sum(grant),
        reason=grant.reason,
        approval_id=grant.approval_id,
        created_at=grant.created_at,
        expires_at=grant.expires_at,
        revoked_at=grant.revoked_at,
        revoked_by=grant.revoked_by,
        revoke_reason=grant.revoke_reason,
    )


def grant_detail_answer(answer: GrantAnswer, uses: Sequence[GrantUse]) -> GrantDetailAnswer:
    return GrantDetailAnswer(
        **dict(answer),
        newest_uses=[
            GrantUseAnswer(
                action_id=one.action_id,
                execution_id=one.execution_id,
                amount=float(one.amount),
                used_at=one.used_at,
                given_back_at=one.given_back_at,
            )
            for one in uses
        ],
    )


def _sum(grant: Grant) -> SumAnswer | None:
    if grant.scope.sum_param is None or grant.max_sum is None:
        return None
    return SumAnswer(param=grant.scope.sum_param, at_most=float(grant.max_sum), used=float(grant.used_sum))
