"""/v1/approvals and /admin/approvals: see what waits, and decide it.

Each route takes a key with the scope, or a person's token; an agent's key carries neither scope.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query

from admin_api.approvals.schemas import (
    ApprovalAnswer,
    ApprovalDetailAnswer,
    ApprovedAnswer,
    ApproveRequest,
    CamelApprovalAnswer,
    DecisionRequest,
    DeniedAnswer,
    DenyRequest,
    approval_answer,
    approval_detail_answer,
    camel_approval_answer,
    decided_answer,
)
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.pagination import (
    CamelPagination,
    CursorPagination,
    ListRequest,
    Page,
    Shape,
    camel_pagination,
    cursor_pagination,
    list_request,
)
from admin_api.principal import Principal
from headgate.approvals.model import ApprovalStatus, VoteDecision
from headgate.approvals.store import ApprovalFilter, get_approval, list_approvals
from headgate.approvals.vote_store import votes_of, votes_of_many
from headgate.approvals.voting import Voter
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.organizations.store import find_users
from headgate.policies.model import RiskLevel

router = APIRouter(route_class=GuardedRoute, tags=["approvals"])

_DEFAULT_LIMIT: Final = 20  # specification, "Limits"


@router.get("/v1/approvals", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(_DEFAULT_LIMIT))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    status: ApprovalStatus | None = None,
    agent_id: Annotated[str | None, Query(max_length=64)] = None,
    risk_level: RiskLevel | None = None,
) -> Page[ApprovalAnswer, CursorPagination] | Page[CamelApprovalAnswer, CamelPagination]:
    """Newest first. ``status`` is what an approval is now: one past its time is expired, not pending."""
    wanted = ApprovalFilter(
        status=status,
        agent_id=None if agent_id is None else parse_id(IdPrefix.AGENT, agent_id),
        risk_level=None if risk_level is None else risk_level.value,
    )
    org_id, now = principal.org_id, dependencies.clock()
    async with dependencies.database.transaction(org_id) as connection:
        found = await list_approvals(
            connection,
            org_id,
            wanted,
            limit=request.limit,
            offset=request.offset,
            cursor=None if request.cursor is None else parse_id(IdPrefix.APPROVAL, request.cursor),
            exact_total=request.exact_total,
        )
        if request.camel:
            approvals = [approval for approval, _ in found.approvals]
            votes = await votes_of_many(connection, org_id, [one.approval_id for one in approvals])
            users = await find_users(connection, org_id, {name for one in approvals for name in one.assignees})
            return Page(
                data=[camel_approval_answer(one, votes.get(one.approval_id, []), users, now) for one in approvals],
                pagination=camel_pagination(request, found.total),
            )
    return Page(
        data=[approval_answer(approval, about, now) for approval, about in found.approvals],
        pagination=cursor_pagination(
            request, found.total, is_minimum=found.total_is_minimum, next_cursor=found.next_cursor
        ),
    )


@router.get("/v1/approvals/{id}")
async def get(
    id: str,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    shape: Annotated[Shape, Query()] = None,
) -> ApprovalDetailAnswer | CamelApprovalAnswer:
    approval_id = parse_id(IdPrefix.APPROVAL, id)
    org_id, now = principal.org_id, dependencies.clock()
    async with dependencies.database.transaction(org_id) as connection:
        approval, about = await get_approval(connection, org_id, approval_id)
        votes = await votes_of(connection, org_id, approval_id)
        users = await find_users(connection, org_id, approval.assignees)
    if shape == "camel":
        return camel_approval_answer(approval, votes, users, now)
    return approval_detail_answer(approval, about, votes, users, now)


@router.post("/v1/approvals/{id}/approve")
async def approve(
    id: str,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: ApproveRequest | None = None,
) -> ApprovedAnswer | DeniedAnswer:
    """One vote for it. Decided or expired already: 409, which says by whom and when."""
    comment = None if body is None else body.comment
    return await _decide(id, principal, dependencies, VoteDecision.APPROVE, comment)


@router.post("/v1/approvals/{id}/deny")
async def deny(
    id: str,  # noqa: A002 - the specification's name of the parameter
    body: DenyRequest,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> ApprovedAnswer | DeniedAnswer:
    """Ends it. The agent is told the reason."""
    return await _decide(id, principal, dependencies, VoteDecision.DENY, body.reason)


@router.post("/admin/approvals/{approval_id}/decision")
async def decide(
    approval_id: str, body: DecisionRequest, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ApprovedAnswer | DeniedAnswer:
    """Approve or deny; answers as those routes do."""
    return await _decide(approval_id, principal, dependencies, body.decision, body.reason)


async def _decide(
    approval_id: str, principal: Principal, dependencies: Dependencies, decision: VoteDecision, reason: str | None
) -> ApprovedAnswer | DeniedAnswer:
    parsed = parse_id(IdPrefix.APPROVAL, approval_id)
    outcome = await dependencies.decide_approval.decide(principal.org_id, parsed, _voter(principal), decision, reason)
    return decided_answer(outcome)


def _voter(principal: Principal) -> Voter:
    return Voter(
        user_id=principal.user_id,
        email=principal.email,
        name=principal.name,
        key_id=principal.key_id,
        agent_id=principal.agent_id,
        is_admin=principal.is_admin,
    )
