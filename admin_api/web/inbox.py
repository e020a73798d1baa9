"""/inbox: lists open approval requests with one of them beside the list. /inbox/{id}: shows one request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from admin_api.approvals.camel_schemas import CamelApprovalAnswer
from admin_api.approvals.routes import list_all
from admin_api.approvals.schemas import ListedApprovalAnswer
from admin_api.approver_groups.routes import list_all as list_groups
from admin_api.identifiers import AgentId, ApprovalId
from admin_api.pagination import MAX_LIMIT, ListRequest, PageRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.approval import approval_context
from admin_api.web.grant_form import GrantDraft
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.approvals.model import ApprovalStatus
from headgate.kernel.errors import HeadgateError
from headgate.policies.model import RiskLevel
from headgate.policies.terms import GROUP_PREFIX

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_AT_ONCE: Final = 50
_OPEN: Final = (ApprovalStatus.PENDING,)
_DECIDED: Final = (ApprovalStatus.APPROVED, ApprovalStatus.DENIED, ApprovalStatus.EXPIRED)

type View = Literal["open", "mine", "decided"]
type _Text = Annotated[str | None, Query(max_length=253)]
type _Cursor = Annotated[ApprovalId | None, Query()]


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """Which requests are listed, as the address has it. ``host`` is of open requests only."""

    view: View = "open"
    agent: str | None = None
    tool: str | None = None
    host: str | None = None
    risk: RiskLevel | None = None
    group: str | None = None
    cursor: str | None = None

    @property
    def query(self) -> dict[str, str]:
        """Without the cursor: it is another page's."""
        view = None if self.view == "open" else self.view
        found = {"view": view, "agent": self.agent, "tool": self.tool, "host": self.host, "group": self.group}
        found["risk"] = self.risk and self.risk.value
        return {name: value for name, value in found.items() if value}


def _filter(
    view: View = "open",
    agent: AgentId | None = None,
    tool: _Text = None,
    host: _Text = None,
    risk: RiskLevel | None = None,
    group: _Text = None,
    cursor: _Cursor = None,
) -> InboxFilter:
    return InboxFilter(view, agent, tool, None if view == "decided" else host, risk, group, cursor)


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
    error: HeadgateError | None = None,
) -> Response:
    """``error``: why a form was refused; ``typed``: what it held; ``grant``: the grant form as it was sent."""
    listed, next_cursor = await _listed(api, wanted)
    waits, others = _by_waiting(listed)
    shown = approval_id or next((one.id for one in [*waits, *others]), None)
    known = {} if wanted.agent is None else {wanted.agent: wanted.agent}
    agents = known | {one.agent_id: one.agent_name or one.agent_id for one in listed}
    context: dict[str, object] = {
        "view": wanted.view,
        "groups": _groups(wanted.view, waits, others),
        "order": [one.id for one in [*waits, *others]],
        "filters": wanted.query,
        "agents": sorted(agents.items(), key=itemgetter(1)),
        "approver_groups": await _approver_groups(api),
        "next_cursor": next_cursor,
        "is_list": approval_id is None,
        "typed": typed or {},
        "may_decide": api.may(Scope.APPROVALS_WRITE),
        "shown": None if shown is None else await approval_context(api, shown, grant),
    }
    return await shell_page(api, "inbox.html", "/inbox", context, error=error)


async def _approver_groups(api: Api) -> Sequence[str]:
    page = PageRequest(MAX_LIMIT)
    return [one.name for one in (await api.call(list_groups, page, api.principal, api.dependencies)).data]


def _assignee(wanted: InboxFilter) -> str | None:
    if wanted.view == "mine":
        return "me"
    return None if wanted.group is None else f"{GROUP_PREFIX}{wanted.group}"


async def _listed(api: Api, wanted: InboxFilter) -> tuple[Sequence[ListedApprovalAnswer], str | None]:
    """Returns one page, newest first, and the next cursor. The API lists one status at a time."""
    found = [
        await api.call(
            list_all,
            ListRequest(_AT_ONCE, cursor=wanted.cursor),
            api.principal,
            api.dependencies,
            status=status,
            agent_id=wanted.agent,
            risk_level=wanted.risk,
            tool=wanted.tool,
            host=wanted.host,
            assignee=_assignee(wanted),
        )
        for status in (_DECIDED if wanted.view == "decided" else _OPEN)
    ]
    newest_first = sorted(
        (one for page in found for one in page.data if not isinstance(one, CamelApprovalAnswer)),
        key=lambda one: one.id,
        reverse=True,
    )
    listed = newest_first[:_AT_ONCE]
    goes_on = len(newest_first) > _AT_ONCE or any(getattr(page.pagination, "next_cursor", None) for page in found)
    return listed, listed[-1].id if listed and goes_on else None


def _by_waiting(
    listed: Sequence[ListedApprovalAnswer],
) -> tuple[list[ListedApprovalAnswer], list[ListedApprovalAnswer]]:
    """Requests with a waiting agent, least time left first; then the others, newest first."""
    waits = sorted((one for one in listed if one.held_until is not None), key=lambda one: str(one.held_until))
    return waits, [one for one in listed if one.held_until is None]


def _groups(
    view: View, waits: Sequence[ListedApprovalAnswer], others: Sequence[ListedApprovalAnswer]
) -> list[tuple[str, Sequence[ListedApprovalAnswer]]]:
    rest = "Decided" if view == "decided" else "Open: the agent retries later"
    return [(title, items) for title, items in (("Agent is waiting", waits), (rest, others)) if items]
