"""/admin/audit: what happened, and whether the record of it is what was sealed.

Everything recorded before a request is sealed before it is answered (semantics.md, "Recording").
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.audit.filters import CurrentFilter, CurrentList, EventShape, resolve
from admin_api.audit.schemas import (
    CamelEventAnswer,
    EventDetailAnswer,
    ListedEventAnswer,
    SchemaEventAnswer,
    VerificationAnswer,
    VerifyRequest,
    camel_event_answer,
    event_detail_answer,
    listed_event_answer,
    schema_event_answer,
    verification_answer,
)
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import EventId
from admin_api.instants import range_of_time
from admin_api.pagination import (
    CursorPagination,
    ListRequest,
    OpenCamelPagination,
    Page,
    cursor_pagination,
    open_camel_pagination,
)
from headgate.actions.store import calls_of
from headgate.audit.model import EventPage, SealedEvent
from headgate.audit.store import get_event, list_events
from headgate.db.database import Connection
from headgate.evidence.event_evidence import event_evidence
from headgate.evidence.verify_with_checkpoints import verify_with_checkpoints
from headgate.journal.apply import apply_before_reading

router = APIRouter(route_class=GuardedRoute, tags=["audit"])


type EventPages = (
    Page[ListedEventAnswer, CursorPagination]
    | Page[SchemaEventAnswer, CursorPagination]
    | Page[CamelEventAnswer, OpenCamelPagination]
)


@router.get("/admin/audit", response_model=EventPages)
async def list_all(
    request: CurrentList,
    asked: CurrentFilter,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    shape: Annotated[EventShape, Query()] = None,
) -> Response:
    """Lists audit events, newest first. A page of a search covers a part of the log and may hold fewer events than
    requested; its cursor continues, and is null at the end of the log."""
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_events(
            connection,
            principal.org_id,
            await resolve(connection, principal.org_id, asked),
            limit=request.limit,
            offset=request.offset,
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
        calls = await _calls(connection, principal.org_id, found.events)
    # Written here: the framework would check every event of the page once more, against three shapes.
    page = _page(request, found, shape, calls)
    return Response(page.model_dump_json(exclude_unset=True, by_alias=True), media_type=JSON)


async def _calls(connection: Connection, org_id: str, events: Sequence[SealedEvent]) -> dict[str, str]:
    return await calls_of(connection, org_id, {one.action_id for one in events if one.action_id is not None})


def _page(request: ListRequest, found: EventPage, shape: EventShape, calls: Mapping[str, str]) -> EventPages:
    if shape == "camel":
        return Page(
            data=[camel_event_answer(event) for event in found.events],
            pagination=open_camel_pagination(request, found),
        )
    pagination = cursor_pagination(request, found)
    if shape == "schema":
        return Page(data=[schema_event_answer(event) for event in found.events], pagination=pagination)
    return Page(data=[listed_event_answer(event, calls) for event in found.events], pagination=pagination)


@router.get("/admin/audit/{id}")
async def get(
    id: EventId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    shape: Annotated[EventShape, Query()] = None,
) -> EventDetailAnswer | SchemaEventAnswer | CamelEventAnswer:
    """Gets one audit event. Includes its neighbors in the chain, the hashed text, and the proof that it is in the
    signed tree. The other shapes hold the event alone."""
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        event = await get_event(connection, principal.org_id, id)
        evidence = await event_evidence(connection, principal.org_id, event.seq) if shape is None else None
        calls = await _calls(connection, principal.org_id, [event])
    if evidence is not None:
        return event_detail_answer(event, evidence, calls)
    return camel_event_answer(event) if shape == "camel" else schema_event_answer(event)


@router.post("/admin/audit/verify")
async def verify(
    principal: CurrentPrincipal, dependencies: CurrentDependencies, body: VerifyRequest | None = None
) -> VerificationAnswer:
    """Verifies the events that were sealed in a period, or all events. Compares them with the checkpoints that were
    signed here, and with the checkpoints in the body."""
    wanted = body or VerifyRequest()
    start, end = range_of_time(wanted.start_date, wanted.end_date)
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        return verification_answer(
            await verify_with_checkpoints(
                connection, principal.org_id, dependencies.signing_keys, wanted.checkpoints, start=start, end=end
            )
        )
