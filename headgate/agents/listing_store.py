"""Looking for agents: by words, status, tag and owner, with what a person wants to see of each in a list."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.agents.model import Agent, AgentStatus
from headgate.agents.rotation import ROTATE_AFTER
from headgate.agents.store import AGENT_COLUMNS, agent_of
from headgate.db.bounded_count import EXACT_TOTAL_LIMIT, BoundedCount
from headgate.db.database import Connection

_PUNCTUATION: Final = re.compile(r"""[\s!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]+""")
_ID_BEGINNING: Final = re.compile(r"agt_[0-9a-f-]{1,36}")
_MOST_WORDS: Final = 8
_WORD_CHARACTERS: Final = 64
_SOUGHT_TOTAL: Final = 1_000
"""Up to where a total is exact for which each agent has to be looked at: words and tags."""
_FOUND: Final = (
    "agents_found(%(words)s, %(beginning)s, %(status)s, %(tag)s, %(owner)s, %(before)s, %(ordered)s, %(limit)s,"
    " %(offset)s)"
)


class AgentFilter(Struct, frozen=True):
    """What to list; None means any. ``search``: beginnings of words in the name or the description, whatever their
    case, or the beginning of an id; all of them."""

    search: str | None = None
    status: AgentStatus | None = None
    tag: str | None = None
    owner: str | None = None


class ListedAgent(Struct, frozen=True):
    """An agent with what its keys say: when one was last used, and how many are due for rotation."""

    agent: Agent
    last_seen_at: datetime | None
    keys_due_for_rotation: int


class FoundAgents(Struct, frozen=True):
    """One page, newest first."""

    agents: Sequence[ListedAgent]
    total: int
    total_is_minimum: bool
    next_cursor: str | None


async def list_agents(
    connection: Connection,
    wanted: AgentFilter,
    *,
    now: datetime,
    limit: int,
    offset: int,
    cursor: str | None,
    exact_total: bool,
) -> FoundAgents:
    """Of the transaction's organization. ``cursor``: the id of the last agent already seen."""
    values = _values(wanted)
    # The page first, its keys after: a list costs what it shows, however many agents there are.
    rows = await connection.execute(
        f"SELECT {AGENT_COLUMNS}, k.last_seen_at, k.due FROM {_FOUND} AS f(found_id)"  # noqa: S608 - constants
        " JOIN agents a ON a.org_id = current_org() AND a.agent_id = f.found_id"
        " LEFT JOIN LATERAL (SELECT max(x.last_used_at) AS last_seen_at,"
        " count(*) FILTER (WHERE x.created_at <= %(old)s AND x.revoked_at IS NULL"
        " AND (x.expires_at IS NULL OR x.expires_at > %(now)s)) AS due"
        " FROM api_keys x WHERE x.org_id = a.org_id AND x.agent_id = a.agent_id) k ON true"
        " ORDER BY a.agent_id DESC",
        {
            **values,
            "before": cursor,
            "ordered": True,
            "limit": limit,
            "offset": offset,
            "now": now,
            "old": now - ROTATE_AFTER,
        },
    )
    listed = [ListedAgent(agent_of(row), row["last_seen_at"], int(row["due"] or 0)) async for row in rows]
    counted = await _count(connection, values, exact=exact_total)
    return FoundAgents(
        agents=listed,
        total=counted.total,
        total_is_minimum=counted.is_minimum,
        next_cursor=listed[-1].agent.agent_id if len(listed) == limit else None,
    )


async def _count(connection: Connection, values: dict[str, object], *, exact: bool) -> BoundedCount:
    is_looked_at = values["words"] is not None or values["tag"] is not None
    most = _SOUGHT_TOTAL if is_looked_at else EXACT_TOTAL_LIMIT
    counted = await connection.execute(
        f"SELECT count(*) AS total FROM {_FOUND}",  # noqa: S608 - a constant of this file
        {**values, "before": None, "ordered": False, "limit": None if exact else most + 1, "offset": 0},
    )
    row = await counted.fetchone()
    total = 0 if row is None else int(row["total"])
    is_minimum = not exact and total > most
    return BoundedCount(most if is_minimum else total, is_minimum)


async def listed_agent(connection: Connection, org_id: str, agent: Agent, *, now: datetime) -> ListedAgent:
    """One agent as a list would show it."""
    cursor = await connection.execute(
        "SELECT max(last_used_at) AS last_seen_at, count(*) FILTER (WHERE created_at <= %(old)s AND revoked_at IS NULL"
        " AND (expires_at IS NULL OR expires_at > %(now)s)) AS due"
        " FROM api_keys WHERE org_id = %(org)s AND agent_id = %(agent)s",
        {"org": org_id, "agent": agent.agent_id, "now": now, "old": now - ROTATE_AFTER},
    )
    row = await cursor.fetchone()
    return ListedAgent(agent, None, 0) if row is None else ListedAgent(agent, row["last_seen_at"], int(row["due"]))


def _values(wanted: AgentFilter) -> dict[str, object]:
    beginnings = _ID_BEGINNING.findall(wanted.search or "")
    rest = _ID_BEGINNING.sub(" ", wanted.search or "")
    words = [word[:_WORD_CHARACTERS] for word in _PUNCTUATION.split(rest) if word][:_MOST_WORDS]
    # Nothing is left in a word that to_tsquery would read as an operator; of no words it finds nothing.
    query = " & ".join(f"{word}:*" for word in words)
    is_sought = bool(words) or (bool(wanted.search) and not beginnings)
    return {
        "words": query if is_sought else None,
        "beginning": max(beginnings, key=len, default=None),
        "status": None if wanted.status is None else wanted.status.value,
        "tag": wanted.tag,
        "owner": wanted.owner,
    }
