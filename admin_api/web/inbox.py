"""/inbox: the approval requests that wait, and one of them beside the list. /inbox/{id}: that one."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.approvals.camel_schemas import CamelApprovalAnswer
from admin_api.approvals.routes import list_all
from admin_api.approvals.schemas import ListedApprovalAnswer
from admin_api.identifiers import AgentId, ApprovalId
from admin_api.pagination import ListRequest
from admin_api.web.api import Api, CurrentApi
from admin_api.web.approval import approval_context
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.agents.scopes import Scope
from headgate.approvals.model import ApprovalStatus
from headgate.policies.model import RiskLevel

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_AT_ONCE: Final = 50
_OPEN: Final = (ApprovalStatus.PENDING,)
_DECIDED: Final = (ApprovalStatus.APPROVED, ApprovalStatus.DENIED, ApprovalStatus.EXPIRED)

type View = Literal["open", "mine", "decided"]
type _Tool = Annotated[str | None, Query(max_length=64)]
type _Cursor = Annotated[ApprovalId | None, Query()]


@router.get("/inbox", response_class=Response)
async def inbox(
    api: CurrentApi,
    view: View = "open",
    agent: AgentId | None = None,
    tool: _Tool = None,
    risk: RiskLevel | None = None,
    cursor: _Cursor = None,
) -> Response:
    """The list; beside it, where the window is wide, the first of it."""
    return await inbox_page(api, view, agent, tool, risk, cursor)


@router.get("/inbox/{approval_id}", response_class=Response)
async def one(
    api: CurrentApi,
    approval_id: ApprovalId,
    view: View = "open",
    agent: AgentId | None = None,
    tool: _Tool = None,
    risk: RiskLevel | None = None,
    cursor: _Cursor = None,
) -> Response:
    """One request, with the list beside where the window is wide."""
    return await inbox_page(api, view, agent, tool, risk, cursor, approval_id=approval_id)


async def inbox_page(
    api: Api,
    view: View,
    agent: str | None = None,
    tool: str | None = None,
    risk: RiskLevel | None = None,
    cursor: str | None = None,
    *,
    approval_id: str | None = None,
    message: str | None = None,
    typed: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    """``message``: why a form was refused; ``typed``: what it held."""
    listed, next_cursor = await _listed(api, view, agent, tool, risk, cursor)
    waits, others = _by_waiting(listed)
    shown = approval_id or next((one.id for one in [*waits, *others]), None)
    filters = {"view": None if view == "open" else view, "agent": agent, "tool": tool, "risk": risk and risk.value}
    context: dict[str, object] = {
        "view": view,
        "groups": _groups(view, waits, others),
        "order": [one.id for one in [*waits, *others]],
        "filters": {name: value for name, value in filters.items() if value},
        "next_cursor": next_cursor,
        "is_list": approval_id is None,
        "message": message,
        "typed": typed or {},
        "may_decide": api.may(Scope.APPROVALS_WRITE),
        "shown": None if shown is None else await approval_context(api, shown),
    }
    return await shell_page(api, "inbox.html", "/inbox", context, status=status)


async def _listed(
    api: Api, view: View, agent: str | None, tool: str | None, risk: RiskLevel | None, cursor: str | None
) -> tuple[Sequence[ListedApprovalAnswer], str | None]:
    """One page, newest first, and where the next begins: lists of one status each, as the API has them."""
    found = [
        await api.call(
            list_all,
            ListRequest(_AT_ONCE, 0, exact_total=False, camel=False, cursor=cursor),
            api.principal,
            api.dependencies,
            status=status,
            agent_id=agent,
            risk_level=risk,
            tool=tool,
            assignee="me" if view == "mine" else None,
        )
        for status in (_DECIDED if view == "decided" else _OPEN)
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
    """Those for which an agent waits now, the one with the least time first; the others, newest first."""
    waits = sorted((one for one in listed if one.held_until is not None), key=lambda one: str(one.held_until))
    return waits, [one for one in listed if one.held_until is None]


def _groups(
    view: View, waits: Sequence[ListedApprovalAnswer], others: Sequence[ListedApprovalAnswer]
) -> list[tuple[str, Sequence[ListedApprovalAnswer]]]:
    rest = "Decided" if view == "decided" else "Open, the agent retries later"
    return [(title, items) for title, items in (("Agent waits", waits), (rest, others)) if items]
