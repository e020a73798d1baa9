"""/admin/agents/{id}/actions, /activity, /figures, /model-usage: what one agent did, and what was done to it."""

from datetime import timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query

from admin_api.actions.filters import WantedStatus, wanted_status
from admin_api.actions.schemas import ActionAnswer, CurrentExpansion, action_answer
from admin_api.agents.history_schemas import (
    FiguresAnswer,
    ModelUsageAnswer,
    TimelineAnswer,
    figures_answer,
    model_usage_answer,
    moment_answer,
)
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import AgentId
from admin_api.pagination import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    CamelPagination,
    CursorPagination,
    ListRequest,
    Page,
    UncountedPagination,
    cursor_page,
    list_request,
)
from headgate.actions.agent_figures import agent_figures
from headgate.actions.store import ActionFilter, list_actions
from headgate.actions.timeline import TIMELINE_CURSOR, agent_timeline
from headgate.agents.listing_store import listed_agent
from headgate.agents.store import get_agent
from headgate.journal.apply import apply_before_reading
from headgate.kernel.ids import IdPrefix
from headgate.llm_usage.prices import stored_prices
from headgate.llm_usage.store import usage_of_agent
from headgate.policies.surroundings import load_surroundings

router = APIRouter(route_class=GuardedRoute, tags=["agents"])

_MOST_DAYS: Final = 90


@router.get("/admin/agents/{id}/actions", response_model_exclude_unset=True)
async def actions(
    id: AgentId,  # noqa: A002 - the specification's name of the parameter
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.ACTION))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    status: WantedStatus | None = None,
    expand: CurrentExpansion = None,
) -> Page[ActionAnswer, CursorPagination] | Page[ActionAnswer, CamelPagination]:
    """Lists the actions of an agent, newest first. ``status``: succeeded is an alias of completed."""
    wanted = ActionFilter(agent_id=id, status=wanted_status(status))
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        await get_agent(connection, principal.org_id, id)
        found = await list_actions(
            connection,
            principal.org_id,
            wanted,
            limit=request.limit,
            offset=request.offset,
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
    data = [action_answer(action, expand) for action in found.actions]
    return cursor_page(request, data, found)


@router.get("/admin/agents/{id}/activity")
async def activity(
    id: AgentId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: Annotated[str | None, Query(pattern=TIMELINE_CURSOR)] = None,
) -> TimelineAnswer:
    """Lists the timeline of an agent, newest first: its actions, and the changes to it and its keys."""
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        await get_agent(connection, principal.org_id, id)
        timeline = await agent_timeline(connection, principal.org_id, id, limit=limit, cursor=cursor)
    return TimelineAnswer(
        data=[moment_answer(moment) for moment in timeline.moments],
        pagination=UncountedPagination(limit=limit, next_cursor=timeline.next_cursor),
    )


@router.get("/admin/agents/{id}/figures")
async def figures(
    id: AgentId,  # noqa: A002 - as beside the specification's routes
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    days: Annotated[int, Query(ge=1, le=_MOST_DAYS)] = 7,
) -> FiguresAnswer:
    """Gets the recent figures of an agent: counts of its actions, decisions, holds and tools, and when it was last
    seen."""
    now = dependencies.clock()
    since = now - timedelta(days=days)
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        agent = await get_agent(connection, principal.org_id, id)
        counted = await agent_figures(connection, principal.org_id, id, since)
        listed = await listed_agent(connection, principal.org_id, agent, now=now)
    return figures_answer(id, since, counted, listed.last_seen_at)


@router.get("/admin/agents/{id}/model-usage")
async def model_usage(
    id: AgentId,  # noqa: A002 - as beside the specification's routes
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    days: Annotated[int, Query(ge=1, le=_MOST_DAYS)] = 7,
) -> ModelUsageAnswer:
    """Gets what an agent used of language models, by day (UTC) and model. Costs are estimated at current prices
    (the data document ``model_prices``)."""
    today = dependencies.clock().date()
    since = today - timedelta(days=days - 1)
    await apply_before_reading(dependencies.database, principal.org_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        await get_agent(connection, principal.org_id, id)
        used = await usage_of_agent(connection, principal.org_id, id, since)
        around = await load_surroundings(connection, principal.org_id)
    return model_usage_answer(id, since, today, used, stored_prices(around.documents))
