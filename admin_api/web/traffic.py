"""/traffic: lists, shows, compares and annotates captured exchanges. The API records each read."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from admin_api.identifiers import ExchangeId
from admin_api.pages import list_or_item, see_other
from admin_api.pagination import ListRequest, list_request
from admin_api.traffic.asker import asker_of
from admin_api.traffic.compare_routes import MessageDifference, diff
from admin_api.traffic.filters import CurrentTraffic, WantedTraffic
from admin_api.traffic.routes import annotate, erase, get, list_all
from admin_api.traffic.schemas import AnnotationRequest, ExchangeAnswer, WholeExchangeAnswer
from admin_api.web.api import Api, CurrentApi
from admin_api.web.compared import side_by_side
from admin_api.web.form import Form, checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.errors import HeadgateError
from headgate.kernel.ids import IdPrefix
from headgate.traffic.store import TrafficFilter

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PLACE: Final = "/activity"
"""The entry of the navigation: captured traffic stands beside the calls."""
_OTHERS: Final = 6

type _List = Annotated[ListRequest, Depends(list_request(IdPrefix.EXCHANGE))]


@router.get("/traffic", response_class=Response)
async def traffic(
    request: Request, api: CurrentApi, listed: _List, wanted: CurrentTraffic, exchange: ExchangeId | None = None
) -> Response:
    """Lists exchanges. ``exchange`` is shown beside the list, and the audit log records that it was read."""
    found = await api.call(
        list_all, listed, wanted, api.principal, api.dependencies, asker_of(api.request, api.principal)
    )
    context: dict[str, object] = {
        "exchanges": found.data,
        "next_cursor": getattr(found.pagination, "next_cursor", None),
        "looked_at": found.filtered_from,
        "losses": found.not_captured,
        "given": {name: value for name, value in request.query_params.items() if name not in ("cursor", "exchange")},
        "cursor": listed.cursor,
        "shown": exchange,
    }
    if exchange is not None:
        context |= await _exchange_context(api, exchange)
    return await shell_page(api, "traffic.html", _PLACE, context)


@router.get("/traffic/compare", response_class=Response)
async def compare(api: CurrentApi, a: ExchangeId, b: ExchangeId) -> Response:
    """Shows two exchanges side by side, with differences marked."""
    found = await api.call(diff, a, b, api.principal, api.dependencies, asker_of(api.request, api.principal))
    context = {"left": found.left, "right": found.right, "parts_of_it": _differences(found.request, found.response)}
    return await shell_page(api, "exchanges_compared.html", _PLACE, context)


def _differences(request: MessageDifference, response: MessageDifference) -> list[tuple[str, dict[str, object]]]:
    return [
        (name, {"head": one.head, "headers": one.headers, "rows": side_by_side(one.body) if one.body else []})
        for name, one in (("Request", request), ("Response", response))
    ]


@router.get("/traffic/{exchange_id}", response_class=Response)
async def one(api: CurrentApi, exchange_id: ExchangeId) -> Response:
    return await _exchange_page(api, exchange_id)


@router.post("/traffic/{exchange_id}", response_class=Response)
async def write_about(api: CurrentApi, exchange_id: ExchangeId) -> Response:
    """Replaces the note and the tags of an exchange, and returns to the page that the form was on."""
    form = await form_of(api.request)
    try:
        tags = form.text("tags").replace(",", " ").split()
        body = checked(AnnotationRequest, {"note": form.text("note"), "tags": tags})
        await api.call(annotate, exchange_id, body, api.principal, api.dependencies)
    except HeadgateError as error:
        return await _exchange_page(api, exchange_id, error, form)
    return see_other(list_or_item("/traffic", form.text("list"), exchange_id))


@router.post("/traffic/{exchange_id}/erase", response_class=Response)
async def remove(api: CurrentApi, exchange_id: ExchangeId) -> Response:
    """Erases an exchange. The audit log still shows that it existed and was erased."""
    await api.call(erase, exchange_id, api.principal, api.dependencies)
    return see_other("/traffic")


async def _exchange_page(
    api: Api, exchange_id: str, error: HeadgateError | None = None, form: Form | None = None
) -> Response:
    context = await _exchange_context(api, exchange_id, form)
    return await shell_page(api, "exchange.html", _PLACE, context, error=error)


async def _exchange_context(api: Api, exchange_id: str, form: Form | None = None) -> dict[str, object]:
    """Returns the context of exchange_article.html."""
    exchange = await api.call(get, exchange_id, api.principal, api.dependencies, asker_of(api.request, api.principal))
    return {
        "exchange": exchange,
        "others": await _others(api, exchange),
        "note": (exchange.note or "") if form is None else form.text("note"),
        "tags": " ".join(exchange.tags) if form is None else form.text("tags"),
        "may_erase": api.may(Scope.ADMIN),
    }


async def _others(api: Api, exchange: WholeExchangeAnswer) -> list[ExchangeAnswer]:
    """The newest exchanges of the same operation with the same host, to compare with."""
    alike = TrafficFilter(tool=exchange.tool, operation=exchange.operation, host=exchange.host)
    newest = ListRequest(_OTHERS)
    asker = asker_of(api.request, api.principal)
    found = await api.call(list_all, newest, WantedTraffic(alike, None), api.principal, api.dependencies, asker)
    return [one for one in found.data if one.id != exchange.id and one.erased_at is None]
