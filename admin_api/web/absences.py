"""/account/absences: names delegates who decide for absent people. Administrators name them for any person."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.absences.routes import NewAbsence, call_off, create, list_all
from admin_api.identifiers import AbsenceId
from admin_api.pages import see_other
from admin_api.pagination import PageRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.people import active_people
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.kernel.errors import HeadgateError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/account/absences"
_AT_ONCE: Final = 200
_FIELDS: Final = ("stand_in", "from", "until", "note", "user_id")


@router.get(_PATH, response_class=Response)
async def absences(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def announce(api: CurrentApi) -> Response:
    form = await form_of(api.request)
    try:
        values = {
            "stand_in": form.text("stand_in"),
            "from": form.utc("from"),
            "until": form.utc("until"),
            "note": form.optional("note"),
            "user_id": form.optional("user_id"),
        }
        await api.call(create, checked(NewAbsence, values), api.principal, api.dependencies)
    except HeadgateError as error:
        return await _page(api, form, error)
    return see_other(_PATH)


@router.post("/account/absences/{absence_id}", response_class=Response)
async def end(api: CurrentApi, absence_id: AbsenceId) -> Response:
    """Ends an absence now, or cancels it before it begins."""
    await api.call(call_off, absence_id, api.principal, api.dependencies)
    return see_other(_PATH)


async def _page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    page = PageRequest(_AT_ONCE)
    context = {
        "absences": (await api.call(list_all, page, api.principal, api.dependencies)).data,
        # Whom an administrator may choose; others write an address.
        "people": await active_people(api) if api.may(Scope.ADMIN) else [],
        "own_id": api.principal.user_id,
        "may_change": api.may(Scope.APPROVALS_WRITE),
        "typed": {name: form.text(name) if form is not None else "" for name in _FIELDS},
    }
    return await shell_page(api, "absences.html", "/account", context, error=error)
