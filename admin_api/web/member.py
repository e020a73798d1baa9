"""/settings/members/{id}: shows one person with their roles, state, second factors and sessions."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.identifiers import UserId
from admin_api.pages import see_other
from admin_api.sessions.routes import end_all_of_user, end_one_of_user, of_user
from admin_api.users.factor_routes import of_user as factors_of_user
from admin_api.users.members import member_of
from admin_api.web.api import CurrentApi
from admin_api.web.browser_name import browser_name
from admin_api.web.form import form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/members"
ROLES: Final = ("admin", "approver", "auditor", "viewer")


@router.get("/settings/members/{user_id}", response_class=Response)
async def one(api: CurrentApi, user_id: UserId) -> Response:
    sessions = (await api.call(of_user, user_id, api.principal, api.dependencies)).data
    context = {
        "member": await member_of(api.dependencies, api.principal.org_id, user_id),
        "factors": await api.call(factors_of_user, user_id, api.principal, api.dependencies),
        "sessions": [(session, browser_name(session.user_agent)) for session in sessions],
        "roles": ROLES,
        "own_id": api.principal.user_id,
    }
    return await settings_page(api, "member.html", _PATH, context)


@router.post("/settings/members/{user_id}/sessions", response_class=Response)
async def end(api: CurrentApi, user_id: UserId) -> Response:
    """Ends one session, or all sessions and all tokens that were issued until now."""
    session, principal = (await form_of(api.request)).text("session"), api.principal
    if session == "all":
        await api.call(end_all_of_user, user_id, api.request, principal, api.dependencies)
    else:
        await api.call(end_one_of_user, user_id, session, api.request, principal, api.dependencies)
    return see_other(f"{_PATH}/{user_id}")
