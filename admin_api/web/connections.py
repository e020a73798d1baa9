"""/connections: lists the credentials that calls carry and agents never see."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.connections.routes import list_all
from admin_api.pagination import PageRequest
from admin_api.web.api import CurrentApi
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_ALL: Final = PageRequest(200)


@router.get("/connections", response_class=Response)
async def connections(api: CurrentApi) -> Response:
    found = await api.call(list_all, _ALL, api.principal, api.dependencies)
    return await shell_page(api, "connections.html", "/connections", {"connections": found.data})
