"""/settings/credentials: sets the values that catalogues name and calls carry. They are never shown."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.settings.execution_routes import get_credentials, set_credentials
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import back_to, settings_page
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import HeadgateError, ValidationError

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
                raise ValidationError(f"Unknown action {other[:32]!r}. Use a form button.")
        document: JsonObject = {"credentials": {form.text("name"): value}}
        await api.call(set_credentials, api.sending(document), api.dependencies)
    except HeadgateError as error:
        return await _page(api, form.text("name"), error)
    return back_to(_PATH)


async def _page(api: Api, typed: str = "", error: HeadgateError | None = None) -> Response:
    context = {
        "credentials": (await api.call(get_credentials, api.principal, api.dependencies)).credentials,
        "typed": typed,
        "message": None if error is None else error.message,
    }
    status = 200 if error is None else error.http_status
    return await settings_page(api, "credentials.html", _PATH, context, status=status)
