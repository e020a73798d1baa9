"""What people call the agents and persons whose identifiers an event has."""

from collections.abc import Sequence

from headgate.agents.store import agent_names
from headgate.db.database import Connection
from headgate.kernel.ids import IdPrefix
from headgate.organizations.store import find_users
from headgate.relay.model import RecordedEvent


async def names_in(connection: Connection, org_id: str, events: Sequence[RecordedEvent]) -> dict[str, str]:
    """By identifier: an agent's name, and a person's address, which is what the other messages call them. Without those
    that are not there any more."""
    owners = {owner for one in events if isinstance(owner := one.data.get("owner"), str)}
    ids = owners | {one.agent_id for one in events if one.agent_id is not None}
    agents = {one for one in ids if one.startswith(f"{IdPrefix.AGENT}_")}
    people = {one for one in ids if one.startswith(f"{IdPrefix.USER}_")}
    names = await agent_names(connection, org_id, agents) if agents else {}
    if people:
        users = await find_users(connection, org_id, people)
        names |= {user_id: name for user_id, user in users.items() if (name := user.email or user.name)}
    return names
