"""/admin/audit: what happened, and whether the record of it is what was sealed.

Everything recorded before a request is sealed before it is answered (semantics.md, "Recording").
"""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query

from admin_api.audit.schemas import (
    CamelEventAnswer,
    EventAnswer,
    VerificationAnswer,
    VerifyRequest,
    camel_event_answer,
    event_answer,
    verification_answer,
)
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.instants import range_of_time
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
from headgate.audit.model import EventFilter
from headgate.audit.sealer import seal_before_reading
from headgate.audit.store import get_event, list_events
from headgate.audit.verification import verify_range
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.policies.model import RiskLevel

router = APIRouter(route_class=GuardedRoute, tags=["audit"])

_DEFAULT_LIMIT: Final = 50  # specification, "Limits"
_ISO_8601: Final = "ISO 8601; a date alone is the whole day (UTC)"


@router.get("/admin/audit", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(_DEFAULT_LIMIT))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    start_date: Annotated[str | None, Query(max_length=64, description=_ISO_8601)] = None,
    end_date: Annotated[str | None, Query(max_length=64, description=_ISO_8601)] = None,
    event_type: Annotated[str | None, Query(max_length=64, pattern=r"^[a-z_]+\.[a-z_]+$")] = None,
    action_id: Annotated[str | None, Query(max_length=64)] = None,
    agent_id: Annotated[str | None, Query(max_length=64)] = None,
    risk_level: RiskLevel | None = None,
) -> Page[EventAnswer, CursorPagination] | Page[CamelEventAnswer, CamelPagination]:
    """Newest first."""
    start, end = range_of_time(start_date, end_date)
    wanted = EventFilter(
        start=start,
        end=end,
        event_type=event_type,
        action_id=None if action_id is None else parse_id(IdPrefix.ACTION, action_id),
        agent_id=None if agent_id is None else parse_id(IdPrefix.AGENT, agent_id),
        risk_level=None if risk_level is None else risk_level.value,
    )
    await seal_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_events(
            connection,
            principal.org_id,
            wanted,
            limit=request.limit,
            offset=request.offset,
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
    if request.camel:
        return Page(
            data=[camel_event_answer(event) for event in found.events],
            pagination=camel_pagination(request, found.total),
        )
    return Page(
        data=[event_answer(event) for event in found.events],
        pagination=cursor_pagination(
            request, found.total, is_minimum=found.total_is_minimum, next_cursor=found.next_cursor
        ),
    )


@router.get("/admin/audit/{id}")
async def get(
    id: str,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    shape: Annotated[Shape, Query()] = None,
) -> EventAnswer | CamelEventAnswer:
    event_id = parse_id(IdPrefix.EVENT, id)
    await seal_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        event = await get_event(connection, principal.org_id, event_id)
    return camel_event_answer(event) if shape == "camel" else event_answer(event)


@router.post("/admin/audit/verify")
async def verify(
    principal: CurrentPrincipal, dependencies: CurrentDependencies, body: VerifyRequest | None = None
) -> VerificationAnswer:
    """Whether the events sealed in a range of time are those that were sealed; without a range, all of them."""
    wanted = body or VerifyRequest()
    start, end = range_of_time(wanted.start_date, wanted.end_date)
    await seal_before_reading(dependencies.database, principal.org_id)
    return verification_answer(await verify_range(dependencies.database, principal.org_id, start, end))
