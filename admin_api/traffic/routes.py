"""/admin/traffic: list, search, read and erase captured exchanges."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.pagination import CursorPagination, ListRequest, cursor_pagination, list_request
from admin_api.traffic.filters import CurrentTraffic
from admin_api.traffic.reading import opened, record_reading, search
from admin_api.traffic.schemas import (
    TrafficPageAnswer,
    WholeExchangeAnswer,
    exchange_answer,
    loss_answer,
    whole_answer,
)
from headgate.audit.model import EventType
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.traffic.store import count_losses, erase_exchange, get_exchange, list_exchanges

router = APIRouter(route_class=GuardedRoute, tags=["traffic"])

_DEFAULT_LIMIT: Final = 50

type View = Literal[
    "auto", "none", "raw", "hex dump", "json", "css", "graphql", "javascript", "multipart form", "query",
    "url-encoded", "xml/html", "yaml", "protobuf", "msgpack",
]  # fmt: skip


@router.get("/admin/traffic", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(_DEFAULT_LIMIT))],
    wanted: CurrentTraffic,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> TrafficPageAnswer:
    """Newest first, by their end. With `filter`, `total` is what was found in the exchanges that were looked at."""
    cursor = request.cursor_id(IdPrefix.EXCHANGE)
    if wanted.expression is not None:
        searched = await search(principal, dependencies, wanted, limit=request.limit, cursor=cursor)
        async with dependencies.database.transaction(principal.org_id) as connection:
            losses = await count_losses(connection, principal.org_id, start=wanted.range[0], end=wanted.range[1])
        return TrafficPageAnswer(
            data=[exchange_answer(one.kept) for one in searched.found],
            pagination=CursorPagination(
                total=len(searched.found), limit=request.limit, offset=0, next_cursor=searched.next_cursor
            ),
            not_captured=[loss_answer(one) for one in losses],
            filtered_from=searched.looked_at,
        )
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_exchanges(
            connection,
            principal.org_id,
            wanted.columns,
            limit=request.limit,
            offset=request.offset,
            cursor=cursor,
            exact_total=request.exact_total,
        )
        losses = await count_losses(connection, principal.org_id, start=wanted.range[0], end=wanted.range[1])
    return TrafficPageAnswer(
        data=[exchange_answer(one) for one in found.exchanges],
        pagination=cursor_pagination(request, found),
        not_captured=[loss_answer(one) for one in losses],
    )


@router.get("/admin/traffic/{id}")
async def get(
    id: str,  # noqa: A002 - as beside the specification's routes
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    view: Annotated[View, Query(description="A content view of mitmproxy; none: only as it was stored.")] = "auto",
) -> WholeExchangeAnswer:
    """Heads and bodies. That somebody has read them is recorded before they are answered (`traffic.read`)."""
    exchange_id = parse_id(IdPrefix.EXCHANGE, id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        one = opened(await get_exchange(connection, principal.org_id, exchange_id), dependencies)
        data = {"exchange_id": exchange_id, "action_id": one.kept.action_id}
        await record_reading(connection, principal, dependencies, EventType.TRAFFIC_READ, {**data})
    pretty = {} if view == "none" else await dependencies.review.pretty(one.for_review(), view)
    return whole_answer(one.kept, one.document, pretty)


@router.delete("/admin/traffic/{id}", status_code=204)
async def erase(
    id: str,  # noqa: A002 - as beside the specification's routes
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> Response:
    """Its key is deleted, and all text of it; that it was there, and that it was erased, stays. Once more: nothing."""
    exchange_id = parse_id(IdPrefix.EXCHANGE, id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        if await erase_exchange(connection, principal.org_id, exchange_id, dependencies.clock()):
            data = {"exchange_id": exchange_id}
            await record_reading(connection, principal, dependencies, EventType.TRAFFIC_ERASED, {**data})
    return Response(status_code=204)
