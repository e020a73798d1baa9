"""GET /v1/agents/me: what the machine of an agent needs to know of the gate, told to the agent's own key."""

from fastapi import APIRouter
from pydantic import Field

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.root.certificates import trusted_certificates
from admin_api.schema import BaseModel
from headgate.agents.store import get_agent
from headgate.kernel.errors import NotFoundError, UnavailableError

router = APIRouter(route_class=GuardedRoute, tags=["agents"])


class OwnAgentAnswer(BaseModel):
    """``proxy_url``: as the operator has set it for agents."""

    id: str
    name: str
    proxy_url: str
    certificates: str = Field(description="PEM. The agent must trust them; during a change of the authority, several.")


@router.get("/v1/agents/me")
async def get_own(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> OwnAgentAnswer:
    """Gets the agent of the key that asks, its proxy and the certificates to trust."""
    if principal.agent_id is None:
        raise NotFoundError("This credential is not an agent's key. Create one with POST /admin/agents.")
    certificates = trusted_certificates(dependencies.ca_certificate)
    if not certificates:
        raise UnavailableError(
            "This API does not know the proxies' certificate authority: set HEADGATE_CA_FILE, or start a proxy here."
        )
    async with dependencies.database.transaction(principal.org_id) as connection:
        agent = await get_agent(connection, principal.org_id, principal.agent_id)
    return OwnAgentAnswer(
        id=agent.agent_id,
        name=agent.name,
        proxy_url=dependencies.proxy_url,
        certificates=certificates.decode("ascii"),
    )
