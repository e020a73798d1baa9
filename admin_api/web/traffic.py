"""/traffic: captured exchanges, found and read side by side. Reading one is recorded, as the API records it."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from admin_api.identifiers import ExchangeId
from admin_api.pagination import ListRequest, list_request
from admin_api.traffic.filters import CurrentTraffic
from admin_api.traffic.routes import erase, get, list_all
from admin_api.web.api import CurrentApi
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.ids import IdPrefix

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PLACE: Final = "/activity"
"""The entry of the navigation: captured traffic stands beside the calls."""

type _List = Annotated[ListRequest, Depends(list_request(IdPrefix.EXCHANGE))]


@router.get("/traffic", response_class=Response)
async def traffic(request: Request, api: CurrentApi, listed: _List, wanted: CurrentTraffic) -> Response:
    found = await api.call(list_all, listed, wanted, api.principal, api.dependencies)
    context = {
        "exchanges": found.data,
        "next_cursor": getattr(found.pagination, "next_cursor", None),
        "looked_at": found.filtered_from,
        "losses": found.not_captured,
        "given": {name: value for name, value in request.query_params.items() if name != "cursor"},
    }
    return await shell_page(api, "traffic.html", _PLACE, context)


@router.get("/traffic/{exchange_id}", response_class=Response)
async def one(api: CurrentApi, exchange_id: ExchangeId) -> Response:
    exchange = await api.call(get, exchange_id, api.principal, api.dependencies)
    return await shell_page(api, "exchange.html", _PLACE, {"exchange": exchange, "may_erase": api.may(Scope.ADMIN)})


@router.post("/traffic/{exchange_id}/erase", response_class=Response)
async def remove(api: CurrentApi, exchange_id: ExchangeId) -> Response:
    """Its text is gone; that it was there, and that it was erased, stays."""
    await api.call(erase, exchange_id, api.principal, api.dependencies)
    return Response(status_code=303, headers={"Location": "/traffic"})
