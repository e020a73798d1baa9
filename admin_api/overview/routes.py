"""/admin/overview: an organization's calls and decisions over a time, for a page that is looked at often."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Final

from fastapi import APIRouter, Query

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.overview.schemas import OverviewAnswer, overview_answer
from admin_api.policies.names import names_of_policies
from headgate.actions.overview import overview
from headgate.agents.store import agent_names
from headgate.journal.apply import apply_before_reading

router = APIRouter(route_class=GuardedRoute, tags=["actions"])


class Period(StrEnum):
    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"


_STEPS: Final = {
    Period.HOUR: (timedelta(minutes=1), 60),
    Period.DAY: (timedelta(minutes=30), 48),
    Period.WEEK: (timedelta(hours=4), 42),
    Period.MONTH: (timedelta(days=1), 30),
}


@router.get("/admin/overview")
async def get(
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    period: Annotated[Period, Query(alias="range")] = Period.DAY,
) -> OverviewAnswer:
    """Gets figures of a period: calls by decision in equal time steps, the agents, tools and denying policies with the
    most calls, and the outcomes of approval requests. Each step counts its newest calls, 20,000 in total:
    ``is_minimum`` shows whether there were more."""
    org_id = principal.org_id
    step, steps = _STEPS[period]
    await apply_before_reading(dependencies.database, org_id)
    async with dependencies.database.transaction(org_id) as connection:
        found = await overview(connection, org_id, until=dependencies.clock(), step=step, steps=steps)
        agents = await agent_names(connection, org_id, found.agents)
        policies = await names_of_policies(connection, org_id, found.denied_by)
    return overview_answer(found, agents, policies)
