"""What the kill switch means for an agent, shown beside its status: a stopped agent looks active otherwise."""

from headgate.agents.kill_switch import current_stops
from headgate.db.database import Connection
from headgate.kernel.errors import UnavailableError
from headgate.organizations.stops import Stop, Stops, StopScope, refusal


async def stops_shown(connection: Connection, org_id: str) -> Stops:
    """Those of now. A switch that cannot be read lets nothing through, and hides no agent."""
    try:
        return await current_stops(connection, org_id)
    except UnavailableError:
        return (Stop(StopScope.ORGANIZATION, None, "the kill switch cannot be read", "nobody", ""),)


def stopped_text(stops: Stops, agent_id: str) -> str | None:
    """What the agent is told, whatever its tool; None: it is not stopped as a whole."""
    covering = (one for one in stops if one.scope is not StopScope.TOOL and one.covers(agent_id=agent_id, tool=""))
    return next((refusal(one) for one in covering), None)
