"""Suspending an agent and letting it go on: at once, in every process, inside open tunnels too."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter

from admin_api.agents.schemas import AgentAnswer, StatusReason
from admin_api.agents.shown import shown_agent
from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import AgentId
from admin_api.principal import Principal
from headgate.agents.administer import resume_agent, suspend_agent
from headgate.agents.model import Agent
from headgate.organizations.change import OrganizationChange

router = APIRouter(route_class=GuardedRoute, tags=["agents"])


@router.post("/admin/agents/{id}/suspend")
async def suspend(
    id: AgentId,  # noqa: A002 - as beside the specification's routes
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: StatusReason | None = None,
) -> AgentAnswer:
    """Suspends an agent: its keys are refused until it is resumed. 409 for a deactivated agent."""
    return await _moved(suspend_agent, id, principal, dependencies, body)


@router.post("/admin/agents/{id}/resume")
async def resume(
    id: AgentId,  # noqa: A002 - as beside the specification's routes
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: StatusReason | None = None,
) -> AgentAnswer:
    """Resumes a suspended agent. 409 for a deactivated agent: create a new one."""
    return await _moved(resume_agent, id, principal, dependencies, body)


async def _moved(
    move: Callable[[OrganizationChange, str, str | None], Awaitable[Agent]],
    agent_id: str,
    principal: Principal,
    dependencies: Dependencies,
    body: StatusReason | None,
) -> AgentAnswer:
    async with administer(principal, dependencies) as change:
        agent = await move(change, agent_id, (body or StatusReason()).reason)
        return await shown_agent(change.connection, agent, change.at)
