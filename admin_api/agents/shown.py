"""An agent as the API shows it: with the figures of its keys, and what the kill switch means for it."""

from datetime import datetime

from admin_api.agents.schemas import AgentAnswer, agent_answer
from headgate.agents.kill_switch import current_stops
from headgate.agents.listing_store import listed_agent
from headgate.agents.model import Agent
from headgate.db.database import Connection
from headgate.kernel.errors import UnavailableError
from headgate.organizations.stops import Stop, Stops, StopScope


async def shown_agent(connection: Connection, agent: Agent, now: datetime) -> AgentAnswer:
    listed = await listed_agent(connection, agent.org_id, agent, now=now)
    return agent_answer(listed, await stops_shown(connection, agent.org_id))


async def stops_shown(connection: Connection, org_id: str) -> Stops:
    """Those of now. A switch that cannot be read lets nothing through, and hides no agent."""
    try:
        return await current_stops(connection, org_id)
    except UnavailableError:
        return (Stop(StopScope.ORGANIZATION, None, "the kill switch is unavailable", "nobody", ""),)
