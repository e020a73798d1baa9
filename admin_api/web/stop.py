"""/stop: the kill switch. Stops everything, one agent or one tool, with a reason, and shows active stops."""

from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from admin_api.pages import see_other
from admin_api.settings.kill_switch_routes import KillSwitch, set_kill_switch
from admin_api.web.api import Api, CurrentApi
from admin_api.web.form import Form, checked, form_of
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.kernel.errors import HeadgateError
from headgate.organizations.stops import StopScope

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH: Final = "/stop"
_TYPED: Final = ("scope", "target", "reason")


@router.get(_PATH, response_class=Response)
async def stop(api: CurrentApi) -> Response:
    return await _page(api)


@router.post(_PATH, response_class=Response)
async def change(api: CurrentApi) -> Response:
    """Stops or resumes. Calls are refused when the response is sent."""
    form = await form_of(api.request)
    try:
        await api.call(set_kill_switch, _body(form), api.principal, api.dependencies)
    except HeadgateError as error:
        return await _page(api, form, error)
    return see_other(_PATH)


def _body(form: Form) -> KillSwitch:
    """Raises ValidationError."""
    scope = form.text("scope")
    target = None if scope == StopScope.ORGANIZATION else form.optional("target")
    values = {"scope": scope, "target": target, "reason": form.text("reason"), "stopped": form.text("act") != "resume"}
    return checked(KillSwitch, values)


async def _page(api: Api, form: Form | None = None, error: HeadgateError | None = None) -> Response:
    typed = {name: "" if form is None else form.text(name) for name in _TYPED}
    return await shell_page(api, "stop.html", _PATH, {"typed": typed}, error=error)
