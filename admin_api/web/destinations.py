"""/settings/destinations: edits the allowlist, the document that policies read as ``data.allowlist``."""

import json
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.settings.routes import get_allowlist, save_allowlist
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page
from headgate.kernel.errors import HeadgateError, NotFoundError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/destinations"
_NEVER_SET: Final = '{"destinations": [], "tools": []}'


@router.get(_PATH, response_class=Response)
async def destinations(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def save(api: CurrentApi) -> Response:
    """Replaces the document, if it is still the shown version."""
    form = await form_of(api.request)
    document = form.text("document")
    try:
        await save_allowlist(api.principal, api.dependencies, document.encode(), form.optional("version"))
    except HeadgateError as error:
        return await _page(api, document, form.text("version"), error)
    return see_other(_PATH)


async def _page(api: Api, typed: str | None = None, version: str = "", error: HeadgateError | None = None) -> Response:
    document, shown_version = _NEVER_SET, ""
    try:
        answer = await api.call(get_allowlist, api.request)
        document, shown_version = bytes(answer.body).decode(), answer.headers["etag"]
    except NotFoundError:
        pass  # it was never set
    context = {
        "document": typed or json.dumps(json.loads(document), indent=2, ensure_ascii=False),
        "version": shown_version if typed is None else version,
    }
    return await settings_page(api, "destinations.html", _PATH, context, error=error)
