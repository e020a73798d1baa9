"""/v1/approvals and /admin/approvals: see what waits, and decide it.

Each route takes a key with the scope, or a person's token; an agent's key carries neither scope.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request

from admin_api.approvals.camel_schemas import CamelApprovalAnswer, camel_approval_answer
from admin_api.approvals.context import context_of
from admin_api.approvals.detail_schemas import ApprovalDetailAnswer, approval_detail_answer
from admin_api.approvals.filters import Sort, wanted_approvals
from admin_api.approvals.schemas import (
    ApprovedAnswer,
    ApproveRequest,
    DecisionRequest,
    DeniedAnswer,
    DenyRequest,
    EscalateRequest,
    ListedApprovalAnswer,
    ReassignRequest,
    decided_answer,
    digest_bytes,
    listed_approval_answer,
)
from admin_api.approvals.voter import voter_of
from admin_api.approvals.wait import MAX_WAIT_SECONDS, wait_until_decided
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import AgentId, ApprovalId, HoldingPolicyId, PersonName
from admin_api.instants import InstantText, range_of_time
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
from headgate.agents.store import agent_names
from headgate.approvals.context_store import identical_pending
from headgate.approvals.detail_store import get_detail, people_of
from headgate.approvals.list_store import list_approvals
from headgate.approvals.model import ApprovalStatus, VoteDecision
from headgate.approvals.vote_store import votes_of_many
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix
from headgate.policies.model import RiskLevel
from headgate.tools.describe import operation_descriptions

router = APIRouter(route_class=GuardedRoute, tags=["approvals"])

_DEFAULT_LIMIT: Final = 20  # specification, "Limits"


@router.get("/v1/approvals", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.APPROVAL, _DEFAULT_LIMIT))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    status: ApprovalStatus | None = None,
    agent_id: AgentId | None = None,
    risk_level: RiskLevel | None = None,
    tool: Annotated[str | None, Query(max_length=64)] = None,
    policy_id: HoldingPolicyId | None = None,
    host: Annotated[str | None, Query(max_length=253, description="Only with status=pending.")] = None,
    held: Annotated[
        bool, Query(description="Only requests with a call that waits now. Only with status=pending.")
    ] = False,
    sort: Annotated[Sort, Query(description="oldest: only with status=pending.")] = Sort.NEWEST,
    assignee: Annotated[
        PersonName | None, Query(max_length=320, description="me, a user id, an email address, group:name")
    ] = None,
    for_me: Annotated[
        bool,
        Query(
            description="Only requests that wait for the caller: assigned to them or unassigned, and not voted on by"
            " them. Only with status=pending."
        ),
    ] = False,
    start_date: Annotated[InstantText | None, Query()] = None,
    end_date: Annotated[InstantText | None, Query()] = None,
) -> Page[ListedApprovalAnswer, CursorPagination] | Page[CamelApprovalAnswer, CamelPagination]:
    """Lists approval requests. ``status`` is the current status: a request past its time is expired, not
    pending."""
    created_from, created_to = range_of_time(start_date, end_date)
    org_id, now = principal.org_id, dependencies.clock()
    async with dependencies.database.transaction(org_id) as connection:
        wanted = await wanted_approvals(
            connection,
            principal,
            now,
            status=status,
            agent_id=agent_id,
            risk_level=risk_level,
            tool=tool,
            policy_id=policy_id,
            host=host,
            held=held,
            sort=sort,
            assignee=assignee,
            for_me=for_me,
            created_from=created_from,
            created_to=created_to,
        )
        found = await list_approvals(
            connection,
            org_id,
            wanted,
            limit=request.limit,
            offset=request.offset,
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
        if request.camel:
            approvals = [approval for approval, _ in found.approvals]
            votes = await votes_of_many(connection, org_id, [one.approval_id for one in approvals])
            people = await people_of(connection, org_id, approvals)
            return Page(
                data=[camel_approval_answer(one, votes.get(one.approval_id, []), people, now) for one in approvals],
                pagination=camel_pagination(request, found.total),
            )
        identical = await identical_pending(
            connection, org_id, [(approval.agent_id, approval.digest) for approval, _ in found.approvals]
        )
        names = await agent_names(connection, org_id, {approval.agent_id for approval, _ in found.approvals})
    descriptions = operation_descriptions(dependencies.catalogue)
    return Page(
        data=[
            listed_approval_answer(
                approval,
                about,
                now,
                agent_name=names.get(approval.agent_id),
                identical=len(identical.get((approval.agent_id, approval.digest), ())),
                descriptions=descriptions,
            )
            for approval, about in found.approvals
        ],
        pagination=cursor_pagination(request, found),
    )


@router.get("/v1/approvals/{id}")
async def get(
    id: ApprovalId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    request: Request,
    shape: Annotated[Shape, Query()] = None,
    wait: Annotated[int, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait for the decision")] = 0,
) -> ApprovalDetailAnswer | CamelApprovalAnswer:
    """Gets one approval request, with its assignees and history."""
    if wait:
        await wait_until_decided(
            dependencies.database,
            dependencies.clock,
            principal.org_id,
            id,
            wait_seconds=wait,
            has_gone=request.is_disconnected,
        )
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        detail = await get_detail(connection, principal.org_id, id)
        context = None if shape == "camel" else await context_of(connection, detail.approval, dependencies.catalogue)
    now = dependencies.clock()
    if shape == "camel":
        return camel_approval_answer(detail.approval, detail.votes, detail.people, now)
    identical = 0 if context is None else len(context.identical_pending)
    return approval_detail_answer(detail, now).model_copy(update={"context": context, "identical_pending": identical})


@router.post("/v1/approvals/{id}/approve")
async def approve(
    id: ApprovalId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: ApproveRequest | None = None,
) -> ApprovedAnswer | DeniedAnswer:
    """Votes for an approval request. 409 if it is already decided or expired; the error says by whom and when.

    With ``params`` (explicit actions only), the current policies decide the edited params, and the vote approves these
    params.
    """
    given = body or ApproveRequest()
    return await _decide(id, principal, dependencies, VoteDecision.APPROVE, given.said, given.digest, given.params)


@router.post("/v1/approvals/{id}/deny")
async def deny(
    id: ApprovalId,  # noqa: A002 - the specification's name of the parameter
    body: DenyRequest,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> ApprovedAnswer | DeniedAnswer:
    """Votes against an approval request. One denial ends it unless a policy asks for more. The agent sees
    the reason."""
    return await _decide(id, principal, dependencies, VoteDecision.DENY, body.said)


@router.post("/admin/approvals/{approval_id}/decision")
async def decide(
    approval_id: ApprovalId, body: DecisionRequest, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> ApprovedAnswer | DeniedAnswer:
    """Approves or denies an approval request. The responses are those of the approve and deny routes."""
    return await _decide(
        approval_id,
        principal,
        dependencies,
        body.decision,
        body.said,
        body.digest,
        body.params,
        denial_needs_reason=False,
    )


@router.post("/v1/approvals/{id}/reassign")
async def reassign(
    id: ApprovalId,  # noqa: A002 - the specification's name of the parameter
    body: ReassignRequest,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> ApprovalDetailAnswer:
    """Reassigns an approval request to other people. They replace the current assignees; votes are kept. Returns the
    approval request."""
    await dependencies.reassign_approval.reassign(
        principal.org_id,
        id,
        voter_of(principal),
        body.assignees,
        body.said,
        policy_id=body.policy_id,
    )
    async with dependencies.database.transaction(principal.org_id) as connection:
        detail = await get_detail(connection, principal.org_id, id)
    return approval_detail_answer(detail, dependencies.clock())


@router.post("/v1/approvals/{id}/escalate")
async def escalate(
    id: ApprovalId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: EscalateRequest | None = None,
) -> ApprovalDetailAnswer:
    """Escalates an approval request before its escalation time, once. Adds the people that the policy names in
    `escalate_to` and notifies all assignees. Returns the approval request."""
    said = (body or EscalateRequest()).said
    await dependencies.escalate_approval.escalate(principal.org_id, id, voter_of(principal), said)
    async with dependencies.database.transaction(principal.org_id) as connection:
        detail = await get_detail(connection, principal.org_id, id)
    return approval_detail_answer(detail, dependencies.clock())


async def _decide(
    approval_id: ApprovalId,
    principal: Principal,
    dependencies: Dependencies,
    decision: VoteDecision,
    reason: str | None,
    digest: str | None = None,
    params: JsonObject | None = None,
    *,
    denial_needs_reason: bool = True,
) -> ApprovedAnswer | DeniedAnswer:
    seen_digest = digest_bytes(digest)
    if params is not None:
        if decision is not VoteDecision.APPROVE:
            raise ValidationError(
                "only an approval can change params",
                details={"field": "params", "reason": "not allowed with a denial"},
            )
        edited = await dependencies.edit_approval.approve(
            principal.org_id,
            approval_id,
            voter_of(principal),
            params,
            reason,
            seen_digest=seen_digest,
        )
        return decided_answer(edited)
    outcome = await dependencies.decide_approval.decide(
        principal.org_id,
        approval_id,
        voter_of(principal),
        decision,
        reason,
        seen_digest=seen_digest,
        denial_needs_reason=denial_needs_reason,
    )
    return decided_answer(outcome)
