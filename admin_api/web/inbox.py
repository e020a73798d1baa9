"""/inbox: lists open approval requests with one of them beside the list. /inbox/{id}: shows one request."""

from collections.abc import Mapping, Sequence, Set
from operator import itemgetter
from typing import Annotated, Final, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from admin_api.approvals.camel_schemas import CamelApprovalAnswer
from admin_api.approvals.filters import Sort
from admin_api.approvals.routes import list_all
from admin_api.approvals.schemas import ListedApprovalAnswer
from admin_api.approver_groups.routes import list_all as list_groups
from admin_api.identifiers import AgentId, ApprovalId
from admin_api.pagination import MAX_LIMIT, ListRequest, PageRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.approval import Changes, approval_context
from admin_api.web.grant_form import GrantDraft
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import open_requests, shell_page
from headgate.agents.scopes import Scope
from headgate.approvals.model import ApprovalStatus
from headgate.kernel.errors import HeadgateError
from headgate.policies.model import RiskLevel
from headgate.policies.terms import GROUP_PREFIX

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_AT_ONCE: Final = 50
_DECIDED: Final = (ApprovalStatus.APPROVED, ApprovalStatus.DENIED, ApprovalStatus.EXPIRED)

_BY_RISK: Final = tuple(reversed(RiskLevel))

type View = Literal["open", "mine", "decided"]
type Order = Literal["newest", "oldest", "risk"]
type _Text = Annotated[str | None, Query(max_length=253)]
type _Cursor = Annotated[ApprovalId | None, Query()]


class InboxFilter(Struct, frozen=True):
    """Which requests are listed, as the address has it. ``view`` None: those that wait for the person, or all open
    ones if the person cannot decide. ``host`` and ``sort`` are of open requests only. ``risk_from``: where a list in
    the order of risk goes on behind ``cursor``."""

    view: View | None = None
    sort: Order = "newest"
    agent: str | None = None
    tool: str | None = None
    host: str | None = None
    risk: RiskLevel | None = None
    group: str | None = None
    cursor: str | None = None
    risk_from: RiskLevel | None = None

    @property
    def query(self) -> dict[str, str]:
        """Without the cursor: it is another page's."""
        found = {"view": self.view, "agent": self.agent, "tool": self.tool, "host": self.host, "group": self.group}
        found["risk"] = self.risk and self.risk.value
        found["sort"] = None if self.sort == "newest" else self.sort
        return {name: value for name, value in found.items() if value}

    @property
    def suffix(self) -> str:
        """The query with its question mark, for an address. Empty: the list that the inbox shows first."""
        return f"?{urlencode(self.query)}" if self.query else ""


def _filter(
    view: View | None = None,
    sort: Order = "newest",
    agent: AgentId | None = None,
    tool: _Text = None,
    host: _Text = None,
    risk: RiskLevel | None = None,
    group: _Text = None,
    cursor: _Cursor = None,
    risk_from: RiskLevel | None = None,
) -> InboxFilter:
    if view == "decided":
        host, sort = None, "newest"
    return InboxFilter(view, sort, agent, tool, host, risk, group, cursor, risk_from)


type CurrentFilter = Annotated[InboxFilter, Depends(_filter)]


@router.get("/inbox", response_class=Response)
async def inbox(api: CurrentApi, wanted: CurrentFilter) -> Response:
    """Shows the list and, in a wide window, its first request beside it."""
    return await inbox_page(api, wanted)


@router.get("/inbox/{approval_id}", response_class=Response)
async def one(api: CurrentApi, approval_id: ApprovalId, wanted: CurrentFilter) -> Response:
    """Shows one request and, in a wide window, the list beside it."""
    return await inbox_page(api, wanted, approval_id=approval_id)


async def inbox_page(
    api: Api,
    wanted: InboxFilter,
    *,
    approval_id: str | None = None,
    typed: Mapping[str, str] | None = None,
    grant: GrantDraft | None = None,
    changes: Changes | None = None,
    error: HeadgateError | None = None,
) -> Response:
    """``error``: why a form was refused; ``typed``: what it held; ``grant``: the grant form as it was sent;
    ``changes``: an edit to compare with the request."""
    filters = wanted.query
    # A group's requests are those of its members: only the list of all has them.
    wanted = replace(wanted, view=wanted.view or ("open" if wanted.group else default_view(api)))
    waits = await _waiting(api, wanted)
    others, more = await _others(api, wanted, {one.id for one in waits})
    listed = [*waits, *others]
    shown = approval_id or next((one.id for one in listed), None)
    known = {} if wanted.agent is None else {wanted.agent: wanted.agent}
    agents = known | {one.agent_id: one.agent_name or one.agent_id for one in listed}
    context: dict[str, object] = {
        "view": wanted.view,
        "default_view": default_view(api),
        "counts": {
            "mine": await open_requests(api, for_me=True),
            "open": await open_requests(api, for_me=False),
        },
        "groups": _groups(wanted.view or "", waits, others),
        "order": [one.id for one in listed],
        "filters": filters,
        "agents": sorted(agents.items(), key=itemgetter(1)),
        "approver_groups": await _approver_groups(api),
        "more": more,
        "is_list": approval_id is None,
        "typed": typed or {},
        "may_decide": api.may(Scope.APPROVALS_WRITE),
        "shown": None if shown is None else await approval_context(api, shown, grant, changes),
    }
    return await shell_page(api, "inbox.html", "/inbox", context, error=error)


async def _approver_groups(api: Api) -> Sequence[str]:
    page = PageRequest(MAX_LIMIT)
    return [one.name for one in (await api.call(list_groups, page, api.principal, api.dependencies)).data]


def default_view(api: Api) -> View:
    return "mine" if api.may(Scope.APPROVALS_WRITE) else "open"


def _assignee(wanted: InboxFilter) -> str | None:
    if wanted.view == "mine":
        return None
    return None if wanted.group is None else f"{GROUP_PREFIX}{wanted.group}"


async def _waiting(api: Api, wanted: InboxFilter) -> list[ListedApprovalAnswer]:
    """Requests with a waiting agent, least time left first, however many are newer. They lead the first page."""
    if wanted.view == "decided" or wanted.cursor is not None:
        return []
    found, _ = await _page(api, wanted, ApprovalStatus.PENDING, held=True)
    return sorted(found, key=lambda one: str(one.held_until))


async def _others(
    api: Api, wanted: InboxFilter, waiting: Set[str]
) -> tuple[Sequence[ListedApprovalAnswer], dict[str, str] | None]:
    """One page of the requests that are not ``waiting``, and what leads to the next one."""
    if wanted.view == "decided":
        found, goes_on = await _decided(api, wanted)
    elif wanted.sort == "risk" and wanted.risk is None:
        found, goes_on = await _by_risk(api, wanted)
    else:
        found, goes_on = await _page(api, wanted, ApprovalStatus.PENDING, risk=wanted.risk)
    if not found or not goes_on:
        return [one for one in found if one.id not in waiting], None
    more = {"cursor": found[-1].id}
    if wanted.sort == "risk":
        more["risk_from"] = found[-1].decision.risk_level
    return [one for one in found if one.id not in waiting], more


async def _decided(api: Api, wanted: InboxFilter) -> tuple[list[ListedApprovalAnswer], bool]:
    """Newest first. The API lists one status at a time."""
    pages = [await _page(api, wanted, status, risk=wanted.risk) for status in _DECIDED]
    newest = sorted((one for found, _ in pages for one in found), key=lambda one: one.id, reverse=True)
    return newest[:_AT_ONCE], len(newest) > _AT_ONCE or any(goes_on for _, goes_on in pages)


async def _by_risk(api: Api, wanted: InboxFilter) -> tuple[list[ListedApprovalAnswer], bool]:
    """Highest risk first, the newest of each first."""
    found: list[ListedApprovalAnswer] = []
    start = _BY_RISK.index(wanted.risk_from or _BY_RISK[0])
    for number, risk in enumerate(_BY_RISK[start:]):
        behind = wanted if number == 0 else replace(wanted, cursor=None)
        one_risk, goes_on = await _page(api, behind, ApprovalStatus.PENDING, risk=risk)
        found += one_risk
        if goes_on or len(found) > _AT_ONCE:
            return found[:_AT_ONCE], True
    return found, False


async def _page(
    api: Api, wanted: InboxFilter, status: ApprovalStatus, *, risk: RiskLevel | None = None, held: bool = False
) -> tuple[list[ListedApprovalAnswer], bool]:
    """Requests of one status, and whether there are more. ``held``: with an agent that waits now."""
    page = await api.call(
        list_all,
        ListRequest(_AT_ONCE, cursor=wanted.cursor),
        api.principal,
        api.dependencies,
        status=status,
        agent_id=wanted.agent,
        risk_level=risk or wanted.risk,
        tool=wanted.tool,
        host=wanted.host,
        held=held,
        sort=Sort.OLDEST if wanted.sort == "oldest" else Sort.NEWEST,
        assignee=_assignee(wanted),
        for_me=wanted.view == "mine" and status is ApprovalStatus.PENDING,
    )
    found = [one for one in page.data if not isinstance(one, CamelApprovalAnswer)]
    return found, getattr(page.pagination, "next_cursor", None) is not None


def _groups(
    view: str, waits: Sequence[ListedApprovalAnswer], others: Sequence[ListedApprovalAnswer]
) -> list[tuple[str, Sequence[ListedApprovalAnswer]]]:
    rest = "Decided" if view == "decided" else "Open: the agent retries later"
    return [(title, items) for title, items in (("Agent is waiting", waits), (rest, others)) if items]
