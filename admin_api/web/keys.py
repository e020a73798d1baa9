"""/settings/keys: lists the keys of programs and agents, and revokes one key or all keys in a leaked text."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.keys.routes import create, list_all, revoke, revoke_all_matching
from admin_api.keys.schemas import IssuedKeyAnswer, Leaked, NewKey
from admin_api.pages import see_other
from admin_api.pagination import ListRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import checked, form_of, no_such_button
from admin_api.web.names import names_of
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/keys"
_AT_ONCE: Final = 200


@router.get(_PATH, response_class=Response)
async def keys(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def change(api: CurrentApi) -> Response:
    """Creates a key and shows it, once; revokes one key or all keys in a leaked text."""
    form = await form_of(api.request)
    try:
        match form.text("act"):
            case "create":
                values = {"name": form.text("name"), "scopes": list(form.several("scopes"))}
                issued = await api.call(create, checked(NewKey, values), api.principal, api.dependencies)
                return await _page(api, issued=issued, status=201)
            case "revoke":
                await api.call(revoke, form.text("key_id"), api.principal, api.dependencies)
            case "leaked":
                leaked = checked(Leaked, {"matching": form.text("matching")})
                found = await api.call(revoke_all_matching, leaked, api.principal, api.dependencies)
                return await _page(api, done=f"{found.revoked} keys revoked.")
            case other:
                raise no_such_button(other)
    except HeadgateError as error:
        return await _page(api, error=error)
    return see_other(_PATH)


async def _page(
    api: Api,
    *,
    issued: IssuedKeyAnswer | None = None,
    done: str | None = None,
    error: HeadgateError | None = None,
    status: int = 200,
) -> Response:
    found = (await api.call(list_all, ListRequest(_AT_ONCE), api.principal, api.dependencies)).data
    context = {
        "keys": found,
        "names": await names_of(api, [one.agent_id for one in found]),
        "scopes": sorted(one.value for one in KIND_SCOPES[KeyKind.ADMIN]),
        "issued": issued,
        "done": done,
    }
    return await settings_page(api, "keys.html", _PATH, context, error=error, status=status)
