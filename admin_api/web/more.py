"""/more: shows the navigation as a page, for the bottom bar of a phone."""

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.web.api import CurrentApi
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/more", response_class=Response)
async def more(api: CurrentApi) -> Response:
    return await shell_page(api, "more.html", "/more")
