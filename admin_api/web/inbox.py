"""/inbox: the approval requests that wait, by age, with filters; several decided at once."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from admin_api.approvals.routes import list_all
from admin_api.identifiers import AgentId
from admin_api.pagination import ListRequest
from admin_api.web.api import CurrentApi
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.approvals.model import ApprovalStatus
from headgate.policies.model import RiskLevel

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_AT_ONCE: Final = 50

type View = Literal["open", "mine", "decided"]


@router.get("/inbox")
async def inbox(
    request: Request,
    api: CurrentApi,
    view: View = "open",
    agent: AgentId | None = None,
    tool: Annotated[str | None, Query(max_length=64)] = None,
    risk: RiskLevel | None = None,
    cursor: str | None = None,
) -> Response:
    """The list, and the newest of it beside where the window is wide."""
    found = await api.call(
        list_all,
        ListRequest(_AT_ONCE, 0, exact_total=False, camel=False, cursor=cursor),
        api.principal,
        api.dependencies,
        status=None if view == "decided" else ApprovalStatus.PENDING,
        agent_id=agent,
        risk_level=risk,
        tool=tool,
        assignee="me" if view == "mine" else None,
    )
    return await shell_page(api, "inbox.html", "/inbox", {"view": view, "approvals": found.data})
