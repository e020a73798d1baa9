"""/settings/members/{id}: shows one person with their roles, state and sessions."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.identifiers import UserId
from admin_api.pagination import MAX_LIMIT, PageRequest
from admin_api.sessions.routes import end_all_of_user, end_one_of_user, of_user
from admin_api.users.routes import list_all
from admin_api.users.schemas import UserAnswer
from admin_api.web.api import Api, CurrentApi
from admin_api.web.browser_name import browser_name
from admin_api.web.form import form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import back_to, settings_page
from headgate.kernel.errors import NotFoundError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/members"
ROLES: Final = ("admin", "approver", "auditor", "viewer")


@router.get("/settings/members/{user_id}", response_class=Response)
async def one(api: CurrentApi, user_id: UserId) -> Response:
    sessions = (await api.call(of_user, user_id, api.principal, api.dependencies)).data
    context = {
        "member": await _member(api, user_id),
        "sessions": [(session, browser_name(session.user_agent)) for session in sessions],
        "roles": ROLES,
        "own_id": api.principal.user_id,
        "message": None,
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
    return back_to(f"{_PATH}/{user_id}")


async def _member(api: Api, user_id: str) -> UserAnswer:
    """Raises NotFoundError."""
    offset = 0
    while True:
        page = PageRequest(MAX_LIMIT, offset, exact_total=False, camel=False)
        people = (await api.call(list_all, page, api.principal, api.dependencies)).data
        found = next((person for person in people if person.id == user_id), None)
        if found is not None:
            return found
        if len(people) < MAX_LIMIT:
            raise NotFoundError(f"No member {user_id}.")
        offset += MAX_LIMIT
