"""/admin/break-glass: let one denied action through, and look at it afterwards."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from admin_api.approvals.voter import voter_of
from admin_api.break_glass.schemas import GlassAnswer, OpenRequest, ReviewRequest, glass_answer
from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import BreakGlassId
from admin_api.pagination import (
    CamelPagination,
    CursorPagination,
    ListRequest,
    Page,
    cursor_page,
    list_request,
)
from headgate.approvals.approver import approver_of_now
from headgate.break_glass.service import break_glass, end_unused_glass, review_glass
from headgate.break_glass.store import find_glass, list_glasses
from headgate.journal.apply import require_applied
from headgate.kernel.ids import IdPrefix

router = APIRouter(route_class=GuardedRoute, tags=["break-glass"])


@router.post("/admin/break-glass", status_code=201)
async def open_glass(body: OpenRequest, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> GlassAnswer:
    """Opens a break-glass use: the next call that is identical to the denied action goes through, once. Only for
    denials of a policy; 409 if a reviewer denied it."""
    await require_applied(dependencies.database, principal.org_id)
    async with administer(principal, dependencies) as change:
        glass = await break_glass(
            change,
            voter_of(principal),
            action_id=body.action_id,
            reason=body.reason,
            lifetime_seconds=body.expires_in_seconds,
        )
    return glass_answer(glass, change.at)


@router.get("/admin/break-glass", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.BREAK_GLASS))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    open_only: Annotated[bool, Query(alias="open", description="Only uses whose review is open")] = False,
) -> Page[GlassAnswer, CursorPagination] | Page[GlassAnswer, CamelPagination]:
    """Lists break-glass uses, newest first."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_glasses(
            connection,
            principal.org_id,
            open_only=open_only,
            limit=request.limit,
            offset=request.offset,
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
    now = dependencies.clock()
    data = [glass_answer(glass, now) for glass in found.glasses]
    return cursor_page(request, data, found)


@router.get("/admin/break-glass/{id}")
async def get(id: BreakGlassId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> GlassAnswer:  # noqa: A002 - as in the specification's routes
    """Gets one break-glass use, with its review if there is one."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        glass = await find_glass(connection, principal.org_id, id)
    return glass_answer(glass, dependencies.clock())


@router.post("/admin/break-glass/{id}/end")
async def end(id: BreakGlassId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> GlassAnswer:  # noqa: A002 - as in the specification's routes
    """Ends a break-glass use before its time. Only for the person who opened it; 409 if it was used or is over. A
    second person must still review it."""
    async with administer(principal, dependencies) as change:
        person = await approver_of_now(change.connection, principal.org_id, voter_of(principal), change.at)
        glass = await end_unused_glass(change, person, id)
    return glass_answer(glass, change.at)


@router.post("/admin/break-glass/{id}/review")
async def review(
    id: BreakGlassId,  # noqa: A002 - as in the specification's routes
    body: ReviewRequest,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> GlassAnswer:
    """Reviews a break-glass use. The reviewer must not be the person who opened it. A review also ends a use that was
    not used yet."""
    async with administer(principal, dependencies) as change:
        glass = await review_glass(
            change,
            await approver_of_now(change.connection, principal.org_id, voter_of(principal), change.at),
            id,
            outcome=body.outcome,
            note=body.note,
        )
    return glass_answer(glass, change.at)
