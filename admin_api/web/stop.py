"""/stop: the kill switch. Stops everything, one agent or one tool, with a reason, and shows active stops."""

from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.actions.search_routes import search
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
async def stop(api: CurrentApi, unseen: str | None = Query(default=None, max_length=64)) -> Response:
    """``unseen``: a tool that was stopped just now, and that no recorded call names."""
    return await _page(api, unseen=unseen)


@router.post(_PATH, response_class=Response)
async def change(api: CurrentApi) -> Response:
    """Stops or resumes. Calls are refused when the response is sent."""
    form = await form_of(api.request)
    try:
        await api.call(set_kill_switch, _body(form), api.principal, api.dependencies)
    except HeadgateError as error:
        return await _page(api, form, error)
    unseen = await _unseen_tool(api, form)
    return see_other(_PATH + ("" if unseen is None else "?" + urlencode({"unseen": unseen})))


async def _unseen_tool(api: Api, form: Form) -> str | None:
    """A tool that was stopped and that no recorded call names: in an emergency a misspelt name looks like a stop."""
    if form.text("act") == "resume" or form.text("scope") != StopScope.TOOL:
        return None
    tool = form.text("target")
    try:
        found = await api.call(search, api.principal, api.dependencies, tool=tool, limit=1)
    except HeadgateError:
        return None  # the stop is in force; this is only a hint
    return None if found.data else tool


def _body(form: Form) -> KillSwitch:
    """Raises ValidationError."""
    scope = form.text("scope")
    target = None if scope == StopScope.ORGANIZATION else form.optional("target")
    values = {"scope": scope, "target": target, "reason": form.text("reason"), "stopped": form.text("act") != "resume"}
    return checked(KillSwitch, values)


async def _page(
    api: Api, form: Form | None = None, error: HeadgateError | None = None, unseen: str | None = None
) -> Response:
    typed = {name: "" if form is None else form.text(name) for name in _TYPED}
    return await shell_page(api, "stop.html", _PATH, {"typed": typed, "unseen": unseen}, error=error)
