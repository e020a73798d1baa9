"""The frame of every page: navigation, count of open requests, active stops, open break-glass uses, the person."""

import asyncio
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from starlette.responses import Response

from admin_api.approvals.routes import list_all as list_approvals
from admin_api.break_glass.routes import list_all as list_glasses
from admin_api.break_glass.schemas import GlassAnswer
from admin_api.pages import page
from admin_api.pagination import ListRequest
from admin_api.settings.kill_switch_routes import StopAnswer, get_kill_switch
from admin_api.web.api import Api
from headgate.agents.scopes import Scope
from headgate.agents.store import agent_names
from headgate.approvals.model import ApprovalStatus
from headgate.break_glass.model import WAITING_MAX, PassStatus
from headgate.kernel.errors import HeadgateError
from headgate.organizations.stops import StopScope
from headgate.organizations.store import get_organization


class _Place(Struct, frozen=True):
    """One entry of the navigation. ``on_phone``: it is in the bottom bar of a phone too."""

    name: str
    path: str
    icon: str
    scope: Scope
    on_phone: bool = False


class ActiveStop(Struct, frozen=True):
    """``name``: of the agent, or its id; the tool. None: everything is stopped."""

    stop: StopAnswer
    name: str | None

    @property
    def subject(self) -> str:
        """The beginning of the sentence that names it."""
        match self.stop.scope:
            case StopScope.ORGANIZATION:
                return "All agents are stopped"
            case StopScope.AGENT:
                return f"The agent {self.name} is stopped"
            case StopScope.TOOL:
                return f"The tool {self.name} is stopped"


_PLACES: Final = (
    _Place("Inbox", "/inbox", "inbox", Scope.APPROVALS_READ, on_phone=True),
    _Place("Activity", "/activity", "activity", Scope.ACTIONS_READ, on_phone=True),
    _Place("Grants", "/grants", "grants", Scope.APPROVALS_READ),
    _Place("Policies", "/policies", "policy", Scope.POLICIES_READ, on_phone=True),
    _Place("Agents", "/agents", "agents", Scope.ADMIN),
    _Place("Connections", "/connections", "tools", Scope.ADMIN),
    _Place("Audit", "/audit", "audit", Scope.AUDIT_READ),
    _Place("Reports", "/reports", "reports", Scope.AUDIT_READ),
    _Place("Overview", "/overview", "overview", Scope.ACTIONS_READ),
    _Place("Settings", "/settings", "settings", Scope.ADMIN),
)
_COUNTED_AT_MOST: Final = 99


async def shell_page(
    api: Api,
    template: str,
    active: str,
    context: Mapping[str, object] | None = None,
    *,
    error: HeadgateError | None = None,
    status: int = 200,
) -> Response:
    """``active`` is the path of the navigation's entry; ``error``: why a form was refused, which the page says with
    the error's status. Raises what the calls behind it raise."""
    person = api.principal.name or api.principal.email or api.principal.user_id or ""
    around: dict[str, object] = {
        "organization": await _organization_name(api),
        "person": person,
        "initials": _initials(person),
        "places": [one for one in _PLACES if api.may(one.scope)],
        "active": active,
        "waiting": await open_requests(api, for_me=api.may(Scope.APPROVALS_WRITE)),
        "stops": await _stops(api),
        "may_see_stops": api.may(Scope.ACTIONS_READ),
        "open_glasses": await _open_glasses(api),
        "may_administer": api.may(Scope.ADMIN),
        "now": api.dependencies.clock(),
        "place_in_log": api.place,
        "headgate": api.dependencies.command_name,
        "message": None if error is None else error.message,
    }
    shown = around | dict(context or {})
    # In a thread: a page shows the whole of a request of up to ten megabytes, and agents' calls wait for the loop.
    return await asyncio.to_thread(page, template, shown, status=status if error is None else error.http_status)


async def _organization_name(api: Api) -> str:
    org_id = api.principal.org_id
    async with api.dependencies.database.transaction(org_id) as connection:
        return (await get_organization(connection, org_id)).name


async def open_requests(api: Api, *, for_me: bool) -> str:
    """How many approval requests are open, or wait for the person. Empty: none, or the person may not see them."""
    if not api.may(Scope.APPROVALS_READ):
        return ""
    found = await api.call(
        list_approvals,
        ListRequest(1),
        api.principal,
        api.dependencies,
        status=ApprovalStatus.PENDING,
        for_me=for_me,
    )
    total = found.pagination.total
    return f"{_COUNTED_AT_MOST}+" if total > _COUNTED_AT_MOST else str(total or "")


async def _stops(api: Api) -> list[ActiveStop]:
    """Stops of everything come first."""
    if not api.may(Scope.ACTIONS_READ):
        return []
    stops = (await api.call(get_kill_switch, api.principal, api.dependencies)).stops
    agents = [one.target for one in stops if one.scope is StopScope.AGENT and one.target is not None]
    names: dict[str, str] = {}
    if agents:
        org_id = api.principal.org_id
        async with api.dependencies.database.transaction(org_id) as connection:
            names = await agent_names(connection, org_id, agents)
    found = [ActiveStop(one, None if one.target is None else names.get(one.target, one.target)) for one in stops]
    return sorted(found, key=lambda one: one.name is not None)


async def _open_glasses(api: Api) -> list[GlassAnswer]:
    """Break-glass uses that may still let a call through."""
    if not api.may(Scope.APPROVALS_READ):
        return []
    found = await api.call(list_glasses, ListRequest(WAITING_MAX), api.principal, api.dependencies, open_only=True)
    return [one for one in found.data if one.status == PassStatus.WAITING]


def _initials(name: str) -> str:
    words = name.partition("@")[0].replace(".", " ").replace("-", " ").split()
    return "".join(word[0] for word in words[:2]).upper() or "?"
