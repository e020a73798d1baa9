"""/admin/traffic: list, search, read and erase captured exchanges."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query

from admin_api.change import administer
from admin_api.deleted import DeletedAnswer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ExchangeId
from admin_api.pagination import (
    CursorPagination,
    Found,
    ListRequest,
    OpenCamelPagination,
    cursor_pagination,
    list_request,
    open_camel_pagination,
)
from admin_api.traffic.asker import CurrentAsker
from admin_api.traffic.filters import CurrentTraffic
from admin_api.traffic.reading import opened, search
from admin_api.traffic.schemas import (
    AnnotationRequest,
    ExchangeAnswer,
    TrafficPageAnswer,
    WholeExchangeAnswer,
    exchange_answer,
    loss_answer,
    whole_answer,
)
from headgate.audit.model import EventType
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix
from headgate.traffic.store import annotate_exchange, count_losses, erase_exchange, get_exchange, list_exchanges

router = APIRouter(route_class=GuardedRoute, tags=["traffic"])


type View = Literal[
    "auto", "none", "raw", "hex dump", "json", "css", "graphql", "javascript", "multipart form", "query",
    "url-encoded", "xml/html", "yaml", "protobuf", "msgpack",
]  # fmt: skip


@router.get("/admin/traffic", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.EXCHANGE))],
    wanted: CurrentTraffic,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    asker: CurrentAsker,
) -> TrafficPageAnswer:
    """Lists exchanges, newest end first. With `filter`, `total` counts the matches among the searched exchanges, and
    only `cursor` continues after them."""
    if wanted.expression is not None:
        _require_cursor(request)
        searched = await search(principal, dependencies, wanted, asker, limit=request.limit, cursor=request.cursor)
        async with dependencies.database.transaction(principal.org_id) as connection:
            losses = await count_losses(connection, principal.org_id, start=wanted.range[0], end=wanted.range[1])
        return TrafficPageAnswer(
            data=[exchange_answer(one.kept) for one in searched.found],
            pagination=_pagination(request, searched),
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
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
        losses = await count_losses(connection, principal.org_id, start=wanted.range[0], end=wanted.range[1])
    return TrafficPageAnswer(
        data=[exchange_answer(one) for one in found.exchanges],
        pagination=_pagination(request, found),
        not_captured=[loss_answer(one) for one in losses],
    )


def _pagination(request: ListRequest, found: Found) -> CursorPagination | OpenCamelPagination:
    return open_camel_pagination(request, found) if request.camel else cursor_pagination(request, found)


def _require_cursor(request: ListRequest) -> None:
    """A search does not know what stands before its cursor, nor how much there is. Raises ValidationError."""
    given = {"offset": request.offset > 0, "total": request.exact_total}
    if asked := next((name for name, is_given in given.items() if is_given), None):
        raise ValidationError(
            f"{asked}: filter cannot be combined with offset, page or total. A filtered search continues with cursor"
            " and counts the exchanges that it searched.",
            details={"field": asked, "reason": "not with filter"},
        )


@router.get("/admin/traffic/{id}")
async def get(
    id: ExchangeId,  # noqa: A002 - as beside the specification's routes
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    asker: CurrentAsker,
    view: Annotated[View, Query(description="A mitmproxy content view. None: the stored content only.")] = "auto",
) -> WholeExchangeAnswer:
    """Gets the heads and bodies of an exchange. The audit log records the read first (`traffic.read`)."""
    async with administer(principal, dependencies) as change:
        one = opened(await get_exchange(change.connection, principal.org_id, id), dependencies)
        await change.record(EventType.TRAFFIC_READ, {"exchange_id": id, "action_id": one.kept.action_id})
    pretty = {} if view == "none" else await dependencies.review.pretty(asker, one.for_review(), view)
    return whole_answer(one.kept, one.document, pretty)


@router.put("/admin/traffic/{id}/annotation")
async def annotate(
    id: ExchangeId,  # noqa: A002 - as beside the specification's routes
    body: AnnotationRequest,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> ExchangeAnswer:
    """Sets the note and the tags of an exchange, for other reviewers, in plain text. The audit log records them
    (`traffic.annotated`). They are erased with the exchange."""
    note, tags = body.note.strip() or None, sorted(set(body.tags))
    async with administer(principal, dependencies) as change:
        kept = await annotate_exchange(change.connection, principal.org_id, id, note, tags)
        data: JsonObject = {"exchange_id": id, "action_id": kept.action_id, "note": note, "tags": [*tags]}
        await change.record(EventType.TRAFFIC_ANNOTATED, data)
    return exchange_answer(kept)


@router.delete("/admin/traffic/{id}")
async def erase(
    id: ExchangeId,  # noqa: A002 - as beside the specification's routes
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> DeletedAnswer:
    """Erases the key and the text of an exchange. The audit log still shows that it existed and that it was erased."""
    async with administer(principal, dependencies) as change:
        if await erase_exchange(change.connection, principal.org_id, id, change.at):
            await change.record(EventType.TRAFFIC_ERASED, {"exchange_id": id})
    return DeletedAnswer(id=id)
