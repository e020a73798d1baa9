"""What the kill switch means for an agent, shown beside its status: a stopped agent looks active otherwise."""

from headgate.organizations.stops import Stops, StopScope, refusal


def stopped_text(stops: Stops, agent_id: str) -> str | None:
    """What the agent is told, whatever its tool; None: it is not stopped as a whole."""
    covering = (one for one in stops if one.scope is not StopScope.TOOL and one.covers(agent_id=agent_id, tool=""))
    return next((refusal(one) for one in covering), None)
