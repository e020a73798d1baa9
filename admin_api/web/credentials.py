"""/settings/credentials: sets the values that catalogues name and calls carry. They are never shown."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.settings.execution_routes import get_credentials, set_credentials
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import form_of, no_such_button
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/credentials"


@router.get(_PATH, response_class=Response)
async def credentials(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def change(api: CurrentApi) -> Response:
    """Sets or removes a credential."""
    form = await form_of(api.request)
    try:
        match form.text("act"):
            case "set":
                value: JsonValue = form.text("value")
            case "forget":
                value = None
            case other:
                raise no_such_button(other)
        document: JsonObject = {"credentials": {form.text("name"): value}}
        await api.call(set_credentials, api.sending(document), api.dependencies)
    except HeadgateError as error:
        return await _page(api, form.text("name"), error)
    return see_other(_PATH)


async def _page(api: Api, typed: str = "", error: HeadgateError | None = None) -> Response:
    context = {
        "credentials": (await api.call(get_credentials, api.principal, api.dependencies)).credentials,
        "typed": typed,
    }
    return await settings_page(api, "credentials.html", _PATH, context, error=error)
