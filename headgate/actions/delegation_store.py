"""Reading chains and trees of actions, a bounded number of rows each, by index."""

from typing import Final

from psycopg.rows import DictRow

from headgate.actions.delegation import MOST_SUB_ACTIONS, Chain, Delegate, SubActions, require_chain
from headgate.db.database import Connection

_COLUMNS: Final = "a.action_id, a.parent_action_id, a.agent_id, a.tool, a.operation, a.status"


async def chain_of(
    connection: Connection, org_id: str, parent_action_id: str | None, *, most: int, agent_id: str | None = None
) -> Chain:
    """The parent and what stands above it, ``most`` at most. ``agent_id``: only that agent's are answered."""
    if parent_action_id is None:
        return []
    cursor = await connection.execute(
        "WITH RECURSIVE chain AS ("  # noqa: S608 - columns of this file
        f" SELECT a.org_id, {_COLUMNS}, 1 AS depth FROM actions a"
        " WHERE a.org_id = %(org)s AND a.action_id = %(parent)s"
        f" UNION ALL SELECT a.org_id, {_COLUMNS}, c.depth + 1 FROM chain c JOIN actions a ON a.org_id = c.org_id"
        " AND a.action_id = c.parent_action_id WHERE c.depth < %(most)s)"
        f" SELECT {_COLUMNS}, g.name, a.depth FROM chain a"
        " LEFT JOIN agents g ON g.org_id = a.org_id AND g.agent_id = a.agent_id"
        " WHERE %(agent)s::text IS NULL OR a.agent_id = %(agent)s ORDER BY a.depth",
        {"org": org_id, "parent": parent_action_id, "most": most, "agent": agent_id},
    )
    return [_delegate(row, row["depth"]) for row in await cursor.fetchall()]


async def checked_chain(connection: Connection, org_id: str, parent_action_id: str | None, *, most: int) -> Chain:
    """The whole chain above an action that is asked for now. Raises ValidationError."""
    if parent_action_id is None:
        return []
    chain = await chain_of(connection, org_id, parent_action_id, most=most + 1)
    require_chain(chain, most=most)
    return chain


async def sub_actions_of(
    connection: Connection, org_id: str, action_id: str, *, depth: int, agent_id: str | None = None
) -> SubActions:
    """Level by level, so that one with a million children costs what is shown. ``agent_id``: only that agent's."""
    found: list[Delegate] = []
    level = [action_id]
    for distance in range(1, depth + 1):
        room = MOST_SUB_ACTIONS + 1 - len(found)
        cursor = await connection.execute(
            f"SELECT {_COLUMNS}, g.name FROM unnest(%(level)s::text[]) AS p(action_id) CROSS JOIN LATERAL ("  # noqa: S608 - a constant of this file
            " SELECT * FROM actions x WHERE x.org_id = %(org)s AND x.parent_action_id = p.action_id"
            " AND (%(agent)s::text IS NULL OR x.agent_id = %(agent)s)"
            " ORDER BY x.action_id LIMIT %(room)s) a"
            " LEFT JOIN agents g ON g.org_id = a.org_id AND g.agent_id = a.agent_id"
            " ORDER BY a.action_id LIMIT %(room)s",
            {"level": level, "org": org_id, "agent": agent_id, "room": room},
        )
        below = [_delegate(row, distance) for row in await cursor.fetchall()]
        found += below
        level = [one.action_id for one in below]
        if not level or len(found) > MOST_SUB_ACTIONS:
            break
    return SubActions(found[:MOST_SUB_ACTIONS], len(found) > MOST_SUB_ACTIONS)


def _delegate(row: DictRow, depth: int) -> Delegate:
    return Delegate(
        action_id=row["action_id"],
        parent_action_id=row["parent_action_id"],
        agent_id=row["agent_id"],
        agent_name=row["name"],
        tool=row["tool"],
        operation=row["operation"],
        status=row["status"],
        depth=depth,
    )
