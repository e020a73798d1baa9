"""GET /v1/actions/search: the newest actions that a reader looks for, with their request line."""

from datetime import datetime
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from admin_api.actions.filters import WantedStatus, WantedTag, wanted_status
from admin_api.actions.schemas import ActionAnswer, action_answer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ActionId
from admin_api.instants import InstantText, range_of_time
from admin_api.pagination import MAX_LIMIT, UncountedPagination
from admin_api.schema import BaseModel
from headgate.actions.model import Action
from headgate.actions.search import ActionSearch, search_actions
from headgate.actions.store import ActionFilter
from headgate.agents.store import agent_ids_of, agent_names
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import NotFoundError, ValidationError

router = APIRouter(route_class=GuardedRoute, tags=["actions"])

_IDS_SHOWN: Final = 20

type _Word = Annotated[str | None, Query(max_length=256)]


class RequestLineAnswer(BaseModel):
    """Of an intercepted call; the path without its query."""

    method: str
    scheme: str
    host: str
    port: int
    path: str


class FoundActionAnswer(ActionAnswer):
    agent_name: str | None
    source: str = Field(description="proxy: an intercepted call. api: an action that an agent submitted.")
    request_line: RequestLineAnswer | None


class FoundActionsAnswer(BaseModel):
    """A search reads a bounded number of actions at a time. ``next_cursor`` continues after the last one that it read,
    also if none matched. ``looked_back_to``: the time of that action."""

    data: list[FoundActionAnswer]
    pagination: UncountedPagination
    looked_at: int
    looked_back_to: datetime | None


@router.get("/v1/actions/search")
async def search(
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    agent: Annotated[str | None, Query(max_length=128, description="Its id, or its name.")] = None,
    status: Annotated[
        WantedStatus | None,
        Query(description="failed finds approved actions of which nothing was sent, too: their last execution failed."),
    ] = None,
    tool: _Word = None,
    operation: _Word = None,
    tag: WantedTag = None,
    decision: Literal["allow", "deny", "require_approval"] | None = None,
    host: _Word = None,
    method: _Word = None,
    path: Annotated[str | None, Query(max_length=256, description="A substring of the path.")] = None,
    text: Annotated[
        str | None,
        Query(
            max_length=256,
            description="A substring of the call's text: of tool, operation, reason, and the first 16,384 characters of"
            " its request.",
        ),
    ] = None,
    start_date: Annotated[InstantText | None, Query(description="Not before.")] = None,
    end_date: Annotated[InstantText | None, Query(description="Not after.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
    cursor: Annotated[ActionId | None, Query(description="next_cursor of the previous page.")] = None,
) -> FoundActionsAnswer:
    """Searches actions, newest first. An agent key finds only the actions of its own agent."""
    org_id = principal.org_id
    start, end = range_of_time(start_date, end_date)
    await apply_before_reading(dependencies.database, org_id)
    async with dependencies.database.transaction(org_id) as connection:
        named = None if agent is None else await agent_ids_of(connection, org_id, agent)
    agent_id = principal.agent_id
    if named is not None:
        if not named or (agent_id is not None and agent_id not in named):
            raise NotFoundError(f"No agent {agent}")
        if agent_id is None and len(named) > 1:
            raise ValidationError(
                f"agent: {len(named)} agents have this name. Use an id: {', '.join(named[:_IDS_SHOWN])}",
                details={"field": "agent", "reason": "several agents have this name"},
            )
        agent_id = agent_id or named[0]
    wanted = ActionSearch(
        ActionFilter(agent_id, wanted_status(status), tool, operation, tag),
        decision,
        host,
        method,
        path,
        text,
        start,
        end,
    )
    found = await search_actions(dependencies.database, org_id, wanted, limit=limit, cursor=cursor)
    async with dependencies.database.transaction(org_id) as connection:
        names = await agent_names(connection, org_id, {one.agent_id for one in found.actions})
    return FoundActionsAnswer(
        data=[_found(one, names.get(one.agent_id)) for one in found.actions],
        pagination=UncountedPagination(limit=limit, next_cursor=found.next_cursor),
        looked_at=found.looked_at,
        looked_back_to=found.looked_back_to,
    )


def _found(action: Action, agent_name: str | None) -> FoundActionAnswer:
    http, line = action.request.http, None
    if http is not None and action.source == "proxy":
        line = RequestLineAnswer(
            method=str(http.get("method", "")),
            scheme=str(http.get("scheme", "")),
            host=str(http.get("host", "")),
            port=int(str(http.get("port", 0))),
            path=str(http.get("path", "")),
        )
    return FoundActionAnswer(
        **dict(action_answer(action, "all")), agent_name=agent_name, source=action.source, request_line=line
    )
