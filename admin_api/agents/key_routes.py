"""/admin/agents/{id}/keys: the keys of one agent."""

from typing import Annotated

from fastapi import APIRouter, Depends

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import AgentId, KeyId
from admin_api.keys.listing import keys_page
from admin_api.keys.schemas import IssuedKeyAnswer, KeyAnswer, NewAgentKey, issued_key_answer, key_answer
from admin_api.pagination import (
    CamelPagination,
    CursorPagination,
    ListRequest,
    Page,
    list_request,
)
from headgate.agents.key_listing_store import KeyFilter
from headgate.agents.scopes import KIND_SCOPES, KeyKind, parse_scopes
from headgate.agents.service import create_key, revoke_key
from headgate.agents.store import find_key, get_agent
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix

router = APIRouter(route_class=GuardedRoute, tags=["agents"])


@router.post("/admin/agents/{agent_id}/keys", status_code=201)
async def create(
    agent_id: AgentId,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: NewAgentKey | None = None,
) -> IssuedKeyAnswer:
    """Creates one more key for an agent. The response shows it, once."""
    wanted = body or NewAgentKey()
    scopes = KIND_SCOPES[KeyKind.AGENT] if wanted.scopes is None else parse_scopes(KeyKind.AGENT, wanted.scopes)
    async with administer(principal, dependencies) as change:
        issued = await create_key(
            change,
            kind=KeyKind.AGENT,
            scopes=scopes,
            agent_id=agent_id,
            name=wanted.name,
            expires_at=wanted.ends(change.at, dependencies.key_lifetime_days),
        )
    return issued_key_answer(issued)


@router.get("/admin/agents/{agent_id}/keys", response_model_exclude_unset=True)
async def list_all(
    agent_id: AgentId,
    request: Annotated[ListRequest, Depends(list_request(IdPrefix.KEY))],
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> Page[KeyAnswer, CursorPagination] | Page[KeyAnswer, CamelPagination]:
    """Lists the keys of an agent, newest first, including inactive keys."""
    org_id, now = principal.org_id, dependencies.clock()
    wanted = KeyFilter(agent_id=agent_id)
    async with dependencies.database.transaction(org_id) as connection:
        await get_agent(connection, org_id, agent_id)
        return await keys_page(connection, org_id, wanted, request, now)


@router.get("/admin/agents/{agent_id}/keys/{key_id}")
async def get(
    agent_id: AgentId, key_id: KeyId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> KeyAnswer:
    """Gets one key of an agent, without the key itself."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        key = await find_key(connection, principal.org_id, key_id, agent_id=agent_id)
    if key is None:
        raise NotFoundError(f"no key {key_id} of this agent")
    return key_answer(key, dependencies.clock())


@router.delete("/admin/agents/{agent_id}/keys/{key_id}")
async def revoke(
    agent_id: AgentId, key_id: KeyId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> KeyAnswer:
    """Revokes a key of an agent. It stops working immediately, also inside open tunnels. Its record is kept."""
    async with administer(principal, dependencies) as change:
        key = await revoke_key(change, key_id, agent_id=agent_id)
    return key_answer(key, change.at)
