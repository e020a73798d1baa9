"""/settings/members: lists people, their roles and invitations."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.identifiers import UserId
from admin_api.organizations.own_routes import give, invite, take_back
from admin_api.organizations.own_routes import list_all as list_invitations
from admin_api.organizations.schemas import GrantedRoles, MadeInvitationAnswer, NewInvitation
from admin_api.pages import see_other
from admin_api.pagination import PageRequest
from admin_api.sessions.routes import end_all_of_user
from admin_api.users.factor_routes import reset as reset_factors
from admin_api.users.routes import deactivate, list_all, reactivate, unlock
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of, no_such_button
from admin_api.web.member import ROLES
from admin_api.web.page_route import PageRoute
from admin_api.web.settings_tabs import settings_page
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/settings/members"
_AT_ONCE: Final = 200


@router.get(_PATH, response_class=Response)
async def members(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def change_invitations(api: CurrentApi) -> Response:
    """Creates an invitation and shows its link, once, or revokes one."""
    form = await form_of(api.request)
    try:
        if form.text("act") == "take-back":
            await api.call(take_back, form.text("invitation_id"), api.principal, api.dependencies)
            return see_other(_PATH)
        body = checked(NewInvitation, {"email": form.text("email"), "roles": list(form.several("roles"))})
        made = await api.call(invite, body, api.principal, api.dependencies)
    except HeadgateError as error:
        return await _page(api, typed=form.text("email"), error=error)
    return await _page(api, made=made, status=201)


@router.post("/settings/members/{user_id}", response_class=Response)
async def change_member(api: CurrentApi, user_id: UserId) -> Response:
    form = await form_of(api.request)
    try:
        await _act(api, user_id, form)
    except HeadgateError as error:
        return await _page(api, error=error)
    return see_other(f"{_PATH}/{user_id}")


async def _act(api: Api, user_id: str, form: Form) -> None:
    principal, dependencies = api.principal, api.dependencies
    match form.text("act"):
        case "roles":
            body = checked(GrantedRoles, {"roles": list(form.several("roles"))})
            await api.call(give, user_id, body, principal, dependencies)
        case "deactivate":
            await api.call(deactivate, user_id, principal, dependencies)
        case "reactivate":
            await api.call(reactivate, user_id, principal, dependencies)
        case "sign-out":
            await api.call(end_all_of_user, user_id, api.request, principal, dependencies)
        case "reset-factors":
            await api.call(reset_factors, user_id, api.request, principal, dependencies)
        case "unlock":
            await api.call(unlock, user_id, principal, dependencies)
        case other:
            raise no_such_button(other)


async def _page(
    api: Api,
    *,
    made: MadeInvitationAnswer | None = None,
    typed: str = "",
    error: HeadgateError | None = None,
    status: int = 200,
) -> Response:
    page = PageRequest(_AT_ONCE)
    context = {
        "members": (await api.call(list_all, page, api.principal, api.dependencies)).data,
        "invitations": (await api.call(list_invitations, page, api.principal, api.dependencies)).data,
        "made": made,
        "roles": ROLES,
        "typed": typed,
        "own_id": api.principal.user_id,
    }
    return await settings_page(api, "members.html", _PATH, context, error=error, status=status)
