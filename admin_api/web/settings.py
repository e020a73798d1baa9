"""/settings: lists the settings pages in groups, with a sentence about each page."""

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.web.api import CurrentApi
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/settings", response_class=Response)
async def settings(api: CurrentApi) -> Response:
    return await settings_page(api, "settings_list.html", "/settings")
