"""Reads the people who own agents, and whom else separation of duties keeps apart (``Duty``)."""

from collections.abc import Iterable, Mapping

from headgate.approvals.standing import NO_OWNER, AgentOwner, Parties, parties_among
from headgate.db.database import Connection
from headgate.kernel.ids import IdPrefix
from headgate.organizations.mail_addresses import lower_ascii
from headgate.organizations.store import persons_of, users_of_emails


async def parties_of_agent(
    connection: Connection, org_id: str, agent_id: str, authors: Mapping[str, str | None]
) -> Parties:
    """The people whom separation of duties may bar from deciding about this agent's calls. ``authors``: of the
    policies, by policy."""
    owner = (await owners_of(connection, org_id, [agent_id])).get(agent_id, NO_OWNER)
    named = owner.users.union(user_id for user_id in authors.values() if user_id is not None)
    return parties_among(await persons_of(connection, org_id, named), owner, authors)


async def owners_of(connection: Connection, org_id: str, agent_ids: Iterable[str]) -> Mapping[str, AgentOwner]:
    """The owners of each agent that exists, by agent: its creator and the person in ``owner``. A team's name is no
    person."""
    cursor = await connection.execute(
        "SELECT agent_id, created_by, owner FROM agents WHERE org_id = %s AND agent_id = ANY (%s)",
        [org_id, list(agent_ids)],
    )
    rows = await cursor.fetchall()
    addresses = {row["owner"] for row in rows if row["owner"] is not None and "@" in row["owner"]}
    addressed = await users_of_emails(connection, org_id, addresses) if addresses else {}
    return {row["agent_id"]: _owner(row["created_by"], row["owner"], addressed) for row in rows}


def _owner(created_by: str | None, owner: str | None, addressed: Mapping[str, list[str]]) -> AgentOwner:
    users = set() if created_by is None else {created_by}
    if owner is None:
        return AgentOwner(frozenset(users))
    if owner.startswith(f"{IdPrefix.USER}_"):
        users.add(owner)
    return AgentOwner(frozenset(users.union(addressed.get(owner, ()))), lower_ascii(owner) if "@" in owner else None)
