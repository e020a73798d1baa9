"""/admin/agents: who may call through the gate, and with which keys."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from msgspec.structs import replace

from admin_api.agents.schemas import (
    AgentAnswer,
    ChangedAgent,
    CreatedAgentAnswer,
    KeyRotation,
    Limits,
    NewAgent,
    RotatedKeyAnswer,
    agent_answer,
    created_agent_answer,
)
from admin_api.agents.shown import shown_agent, stops_shown
from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import AgentId
from admin_api.keys.schemas import issued_key_answer
from admin_api.pagination import (
    CamelPagination,
    CursorPagination,
    ListRequest,
    Page,
    cursor_page,
    list_request,
)
from admin_api.text import StorableText
from headgate.agents.administer import change_agent, deactivate_agent
from headgate.agents.listing_store import AgentFilter, list_agents
from headgate.agents.model import Agent, AgentStatus
from headgate.agents.service import create_agent, rotate_key
from headgate.agents.store import get_agent
from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix

router = APIRouter(route_class=GuardedRoute, tags=["agents"])


@router.post("/admin/agents", status_code=201)
async def create(body: NewAgent, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> CreatedAgentAnswer:
    """Creates an agent and its first key. Only this response shows the key."""
    async with administer(principal, dependencies) as change:
        agent, issued = await create_agent(
            change,
            name=body.name,
            description=body.description,
            owner=body.owner,
            tags=_unique(body.tags),
            limits=body.limits.parsed(),
            expires_at=body.ends(change.at, dependencies.key_lifetime_days),
        )
        stops = await stops_shown(change.connection, principal.org_id)
    return created_agent_answer(agent, issued_key_answer(issued), stops)


@router.get("/admin/agents", response_model_exclude_unset=True)
async def list_all(
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.AGENT))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    q: Annotated[
        StorableText | None,
        Query(max_length=200, description="Prefixes of words in the name, or of the id."),
    ] = None,
    status: AgentStatus | None = None,
    tag: Annotated[StorableText | None, Query(max_length=64)] = None,
    owner: Annotated[StorableText | None, Query(max_length=320)] = None,
) -> Page[AgentAnswer, CursorPagination] | Page[AgentAnswer, CamelPagination]:
    """Lists agents, newest first, including deactivated agents."""
    wanted = AgentFilter(search=q, status=status, tag=tag, owner=owner)
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_agents(
            connection,
            wanted,
            now=dependencies.clock(),
            limit=request.limit,
            offset=request.offset,
            cursor=request.cursor,
            exact_total=request.exact_total,
        )
        stops = await stops_shown(connection, principal.org_id)
    return cursor_page(request, [agent_answer(agent, stops) for agent in found.agents], found)


@router.get("/admin/agents/{id}")
async def get(id: AgentId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> AgentAnswer:  # noqa: A002 - the specification's name of the parameter
    """Gets one agent, with its limits and the counts of its keys."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        agent = await get_agent(connection, principal.org_id, id)
        return await shown_agent(connection, agent, dependencies.clock())


@router.put("/admin/agents/{id}")
async def update(
    id: AgentId,  # noqa: A002 - the specification's name of the parameter
    body: ChangedAgent,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> AgentAnswer:
    """Updates name, description, owner, tags and limits of an agent. Omitted fields keep their values. Applies to the
    agent's next call."""
    async with administer(principal, dependencies) as change:
        before = await get_agent(change.connection, change.org_id, id, lock=True)
        agent = await change_agent(change, before, _changed(before, body))
        return await shown_agent(change.connection, agent, change.at)


@router.delete("/admin/agents/{id}")
async def deactivate(id: AgentId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> AgentAnswer:  # noqa: A002 - the specification's name of the parameter
    """Deactivates an agent permanently. Its keys stop working immediately, also inside open tunnels. Its history is
    kept."""
    async with administer(principal, dependencies) as change:
        return await shown_agent(change.connection, await deactivate_agent(change, id), change.at)


@router.post("/admin/agents/{id}/rotate-key")
async def rotate(
    id: AgentId,  # noqa: A002 - the specification's name of the parameter
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: KeyRotation | None = None,
) -> RotatedKeyAnswer:
    """Replaces the keys of an agent with a new key. The old keys stop immediately or after ``overlap_seconds``."""
    rotation = body or KeyRotation()
    async with administer(principal, dependencies) as change:
        issued, replaced = await rotate_key(
            change,
            id,
            key_id=rotation.key_id,
            overlap_seconds=rotation.overlap_seconds,
        )
    return RotatedKeyAnswer(
        api_key=issued_key_answer(issued),
        replaced=[key.key_id for key in replaced],
        overlap_seconds=rotation.overlap_seconds,
    )


def _changed(agent: Agent, body: ChangedAgent) -> Agent:
    given = body.model_fields_set
    if "name" in given and body.name is None:
        raise ValidationError("name: required for an agent", details={"field": "name", "reason": "must not be null"})
    after = agent
    if body.name is not None:
        after = replace(after, name=body.name)
    if "description" in given:
        after = replace(after, description=body.description)
    if "owner" in given:
        after = replace(after, owner=body.owner)
    if "tags" in given:
        after = replace(after, tags=_unique(body.tags or []))
    if "limits" in given:
        after = replace(after, limits=(body.limits or Limits()).parsed())
    return after


def _unique(tags: list[str]) -> tuple[str, ...]:
    return tuple(sorted(set(tags)))
