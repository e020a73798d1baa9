"""POST /v1/approvals/bulk-decision: the same decision on several approvals, each by itself.

Nothing is all or nothing here: each is a vote with its own rules, transaction and event, and says what became of it.
"""

from typing import Annotated, Final, Literal

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from admin_api.approvals.schemas import Digest, digest_bytes
from admin_api.approvals.voter import voter_of
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.description.choices import exactly_one
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ApprovalId
from admin_api.principal import Principal
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.approvals.context_store import identical_pending
from headgate.approvals.model import REASON_MAX_CHARACTERS, VoteDecision
from headgate.approvals.store import get_approval
from headgate.kernel.errors import HeadgateError, ValidationError

router = APIRouter(route_class=GuardedRoute, tags=["approvals"])

_AT_ONCE_MAX: Final = 100


class BulkDecisionRequest(BaseModel):
    """``ids``, or ``identical_to``: this approval request and all open ones of the identical action."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=exactly_one(ids="array", identical_to="string"))

    decision: VoteDecision
    ids: list[ApprovalId] | None = Field(default=None, min_length=1, max_length=_AT_ONCE_MAX)
    identical_to: ApprovalId | None = None
    digests: dict[ApprovalId, Digest] | None = Field(
        default=None,
        max_length=_AT_ONCE_MAX,
        description="Digests of the actions as you saw them, by approval request. One that has changed is not decided.",
    )
    reason: Annotated[StorableText, Field(max_length=REASON_MAX_CHARACTERS)] | None = Field(
        default=None, description="Required to deny. A comment on an approval."
    )


class BulkErrorAnswer(BaseModel):
    code: str
    message: str


class BulkResultAnswer(BaseModel):
    """``result`` error: nothing was changed, and ``error`` says why. ``status`` is the approval's, still pending where
    more votes are needed."""

    id: str
    result: Literal["voted", "error"]
    status: str | None
    error: BulkErrorAnswer | None


class BulkDecisionAnswer(BaseModel):
    voted: int
    failed: int
    results: list[BulkResultAnswer]


@router.post("/v1/approvals/bulk-decision")
async def decide_many(
    body: BulkDecisionRequest, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> BulkDecisionAnswer:
    """Votes on several approval requests, in order. The status is also 200 if some could not be decided: see each
    result."""
    approval_ids = await _wanted(body, principal, dependencies)
    results = [await _decide(approval_id, body, principal, dependencies) for approval_id in approval_ids]
    voted = sum(one.result == "voted" for one in results)
    return BulkDecisionAnswer(voted=voted, failed=len(results) - voted, results=results)


async def _wanted(body: BulkDecisionRequest, principal: Principal, dependencies: Dependencies) -> list[str]:
    """Once each. Raises ValidationError, NotFoundError."""
    if (body.ids is None) == (body.identical_to is None):
        raise ValidationError("give either ids or identical_to", details={"field": "ids"})
    if body.ids is not None:
        return list(dict.fromkeys(body.ids))
    approval_id = body.identical_to or ""
    async with dependencies.database.transaction(principal.org_id) as connection:
        approval, _ = await get_approval(connection, principal.org_id, approval_id)
        call = (approval.agent_id, approval.digest)
        found = (await identical_pending(connection, principal.org_id, [call])).get(call, [])
    return list(dict.fromkeys([approval_id, *found]))[:_AT_ONCE_MAX]


async def _decide(
    approval_id: str, body: BulkDecisionRequest, principal: Principal, dependencies: Dependencies
) -> BulkResultAnswer:
    digest = (body.digests or {}).get(approval_id)
    try:
        outcome = await dependencies.decide_approval.decide(
            principal.org_id,
            approval_id,
            voter_of(principal),
            body.decision,
            body.reason,
            seen_digest=digest_bytes(digest),
        )
    except HeadgateError as error:
        shown = BulkErrorAnswer(code=error.code.value, message=error.message)
        return BulkResultAnswer(id=approval_id, result="error", status=None, error=shown)
    return BulkResultAnswer(id=approval_id, result="voted", status=outcome.approval.status.value, error=None)
