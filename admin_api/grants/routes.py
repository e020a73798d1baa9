"""/admin/grants and POST /v1/approvals/{id}/grant: give, see and take back standing permissions."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query
from msgspec.structs import replace

from admin_api.approvals.schemas import digest_bytes
from admin_api.approvals.voter import voter_of
from admin_api.change import administer, change_by
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.grants.schemas import (
    ApproveAndGrant,
    GrantAnswer,
    GrantDetailAnswer,
    GrantedAnswer,
    NewGrant,
    grant_answer,
    grant_detail_answer,
)
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import AgentId, ApprovalId, GrantId
from admin_api.pagination import (
    CamelPagination,
    CursorPagination,
    ListRequest,
    Page,
    cursor_page,
    list_request,
)
from headgate.agents.store import agent_names
from headgate.approvals.approver import approver_of_now, parties_to
from headgate.approvals.model import VoteDecision
from headgate.approvals.store import get_approval
from headgate.approvals.voting import Outcome, Voter
from headgate.grants.granting import Calls, grant_approved, grant_calls
from headgate.grants.model import REASON_MAX_CHARACTERS, Grant, GrantStatus
from headgate.grants.service import confirm_grant, revoke_grant
from headgate.grants.store import GrantFilter, find_grant, list_grants, newest_uses
from headgate.kernel.errors import ConflictError
from headgate.kernel.ids import IdPrefix
from headgate.organizations.change import OrganizationChange

router = APIRouter(route_class=GuardedRoute, tags=["grants"])

_USES_SHOWN: Final = 50


@router.get("/admin/grants", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.GRANT))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    status: GrantStatus | None = None,
    agent_id: AgentId | None = None,
    tool: Annotated[str | None, Query(max_length=64)] = None,
    operation: Annotated[str | None, Query(max_length=64)] = None,
) -> Page[GrantAnswer, CursorPagination] | Page[GrantAnswer, CamelPagination]:
    """Lists grants, newest first. ``status`` is the current status."""
    wanted = GrantFilter(status, agent_id, tool=tool, operation=operation)
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_grants(
            connection,
            principal.org_id,
            wanted,
            limit=request.limit,
            offset=request.offset,
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
        names = await agent_names(connection, principal.org_id, {grant.agent_id for grant in found.grants})
    now = dependencies.clock()
    data = [grant_answer(grant, names.get(grant.agent_id), now) for grant in found.grants]
    return cursor_page(request, data, found)


@router.post("/admin/grants", status_code=201)
async def create(body: NewGrant, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> GrantAnswer:
    """Creates a grant without an approval. The grant covers only calls that its creator could approve."""
    async with administer(principal, dependencies) as change:
        grant = await grant_calls(
            change,
            await approver_of_now(change.connection, principal.org_id, voter_of(principal), change.at),
            body.bounds(change.at),
            Calls(body.tool, body.operation, body.scope(body.conditions, None)),
            agent_id=body.agent_id,
            policy_ids=body.policy_ids,
            max_seconds=dependencies.grant_max_seconds,
        )
        return await _answer(change, grant)


@router.get("/admin/grants/{id}")
async def get(id: GrantId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> GrantDetailAnswer:  # noqa: A002 - as in the specification's routes
    """Gets one grant with its newest uses."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        grant = await find_grant(connection, principal.org_id, id)
        uses = await newest_uses(connection, principal.org_id, id, _USES_SHOWN)
        names = await agent_names(connection, principal.org_id, [grant.agent_id])
    return grant_detail_answer(grant_answer(grant, names.get(grant.agent_id), dependencies.clock()), uses)


@router.post("/admin/grants/{id}/confirm")
async def confirm(id: GrantId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> GrantAnswer:  # noqa: A002 - as in the specification's routes
    """Confirms a grant as one more person, if a policy allows grants and asks for more than one approval."""
    async with administer(principal, dependencies) as change:
        person = await approver_of_now(change.connection, principal.org_id, voter_of(principal), change.at)
        grant = await confirm_grant(change, id, person)
        return await _answer(change, grant)


@router.delete("/admin/grants/{id}")
async def revoke(
    id: GrantId,  # noqa: A002 - as in the specification's routes
    reason: Annotated[str, Query(min_length=1, max_length=REASON_MAX_CHARACTERS)],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> GrantAnswer:
    """Revokes a grant. It no longer approves calls, at any proxy. Its record is kept."""
    async with administer(principal, dependencies) as change:
        grant = await revoke_grant(change, id, reason)
        return await _answer(change, grant)


@router.post("/v1/approvals/{id}/grant")
async def approve_and_grant(
    id: ApprovalId,  # noqa: A002 - as in the specification's routes
    body: ApproveAndGrant,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> GrantedAnswer:
    """Approves a call and grants similar calls; both or neither.

    The approval covers its own call; the uses of the grant are for later calls. If more than one approval is needed:
    409. In this case create the grant with POST /admin/grants, for other approvers to confirm.
    """
    approval_id, by = id, change_by(principal, dependencies)
    bounds = body.bounds(by.at)
    granted: list[GrantAnswer] = []

    async def also_grant(change: OrganizationChange, outcome: Outcome, voter: Voter) -> None:
        if not outcome.decided:
            raise ConflictError(
                f"the grant needs {outcome.approval.required_approvals} approvals, as the request does: approve it,"
                " then create the grant with POST /admin/grants for other approvers to confirm",
                details={"required_approvals": outcome.approval.required_approvals},
            )
        _, about = await get_approval(change.connection, principal.org_id, approval_id)
        change = replace(change, actor=by.actor, at=by.at)
        grant = await grant_approved(
            change,
            voter,
            bounds,
            Calls(about.tool, about.operation, body.scope(body.conditions, outcome.approval.approved_digest)),
            approval=outcome.approval,
            parties=await parties_to(change.connection, outcome.approval),
            max_seconds=dependencies.grant_max_seconds,
        )
        granted.append(await _answer(change, grant))

    outcome = await dependencies.decide_approval.decide(
        principal.org_id,
        approval_id,
        voter_of(principal),
        VoteDecision.APPROVE,
        body.comment,
        seen_digest=digest_bytes(body.digest),
        then=also_grant,
    )
    return GrantedAnswer(approval_id=approval_id, status=outcome.approval.status.value, grant=granted[0])


async def _answer(change: OrganizationChange, grant: Grant) -> GrantAnswer:
    names = await agent_names(change.connection, change.org_id, [grant.agent_id])
    return grant_answer(grant, names.get(grant.agent_id), change.at)
