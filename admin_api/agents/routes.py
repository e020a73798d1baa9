"""/admin/agents: who may call through the gate, and with which keys."""

from fastapi import APIRouter

from admin_api.agents.schemas import (
    AgentAnswer,
    CreatedAgentAnswer,
    KeyRotation,
    NewAgent,
    RotatedKeyAnswer,
    agent_answer,
    created_agent_answer,
)
from admin_api.change import change_by
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.keys.schemas import issued_key_answer
from admin_api.pagination import CurrentPage, Page, Pagination, pagination_of
from headgate.agents.service import create_agent, rotate_key
from headgate.agents.store import count_agents, find_agent, list_agents
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, parse_id

router = APIRouter(route_class=GuardedRoute, tags=["agents"])


@router.post("/admin/agents", status_code=201)
async def create(body: NewAgent, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> CreatedAgentAnswer:
    """A new agent and its first key, which is shown in this answer and never again."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        agent, issued = await create_agent(
            connection, change_by(principal, dependencies), name=body.name, description=body.description
        )
    return created_agent_answer(agent, issued_key_answer(issued))


@router.get("/admin/agents", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> Page[AgentAnswer, Pagination]:
    """Newest first."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        agents = await list_agents(connection, principal.org_id, limit=page.limit, offset=page.offset)
        total, is_minimum = await count_agents(connection, principal.org_id, exact=page.exact_total)
    return Page(
        data=[agent_answer(agent) for agent in agents], pagination=pagination_of(page, total, is_minimum=is_minimum)
    )


@router.get("/admin/agents/{id}")
async def get(id: str, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> AgentAnswer:  # noqa: A002 - the specification's name of the parameter
    agent_id = parse_id(IdPrefix.AGENT, id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        agent = await find_agent(connection, principal.org_id, agent_id)
    if agent is None:
        raise NotFoundError(f"there is no agent {agent_id}")
    return agent_answer(agent)


@router.post("/admin/agents/{id}/rotate-key")
async def rotate(
    id: str,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: KeyRotation | None = None,
) -> RotatedKeyAnswer:
    """A new key in the place of the agent's keys, which stop now or after ``overlap_seconds``."""
    agent_id = parse_id(IdPrefix.AGENT, id)
    rotation = body or KeyRotation()
    key_id = None if rotation.key_id is None else parse_id(IdPrefix.KEY, rotation.key_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        issued, replaced = await rotate_key(
            connection,
            change_by(principal, dependencies),
            agent_id,
            key_id=key_id,
            overlap_seconds=rotation.overlap_seconds,
        )
    dependencies.keys.forget(principal.org_id)
    return RotatedKeyAnswer(
        api_key=issued_key_answer(issued),
        replaced=[key.key_id for key in replaced],
        overlap_seconds=rotation.overlap_seconds,
    )
