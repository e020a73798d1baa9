"""What a filter of calls can be completed with: agents, tools, and the operations and hosts of recent calls.

The tools are read from their index, one step each. Of each of the last days only the newest calls are looked at, so
that the answer costs the same for any number of calls.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from headgate.agents.store import agent_names
from headgate.db.database import Connection, Database
from headgate.kernel.ids import IdPrefix, earliest_id
from headgate.kernel.json_beginning import read_beginning

VALUES_MAX: Final = 300
"""Of each kind; agents with recent calls come on top."""
LOOKED_AT_MAX: Final = 1_050
_DAYS: Final = 7
_BEGINNING_CHARACTERS: Final = 2_048

_AGENTS: Final = "SELECT name FROM agents WHERE org_id = %(org)s ORDER BY agent_id DESC LIMIT %(most)s"
# A step of the index for each tool: PostgreSQL's DISTINCT would read all of it.
_TOOLS: Final = """
    WITH RECURSIVE found AS (
        (SELECT tool FROM actions WHERE org_id = %(org)s ORDER BY tool LIMIT 1)
        UNION ALL
        SELECT (SELECT a.tool FROM actions a WHERE a.org_id = %(org)s AND a.tool > found.tool ORDER BY a.tool LIMIT 1)
        FROM found WHERE found.tool IS NOT NULL
    )
    SELECT tool FROM found WHERE tool IS NOT NULL LIMIT %(most)s
"""
_RECENT: Final = """
    SELECT n.agent_id, n.operation, n.beginning
    FROM unnest(%(floors)s::text[], %(ceilings)s::text[]) AS b (floor, ceiling)
    CROSS JOIN LATERAL (
        SELECT a.agent_id, a.operation,
               CASE WHEN a.source = 'proxy' THEN left(a.request, %(characters)s) END AS beginning
        FROM actions a WHERE a.org_id = %(org)s AND a.action_id >= b.floor AND a.action_id < b.ceiling
        ORDER BY a.action_id DESC LIMIT %(most)s
    ) n
"""


class FilterValues(Struct, frozen=True):
    """In the order of their letters. ``agents``: names of the newest, and of those with recent calls."""

    agents: Sequence[str]
    tools: Sequence[str]
    operations: Sequence[str]
    hosts: Sequence[str]


async def filter_values(database: Database, org_id: str, *, until: datetime) -> FilterValues:
    """Operations and hosts are of the seven days before ``until``. Raises UnavailableError."""
    starts = [until - timedelta(days=_DAYS - number) for number in range(_DAYS + 1)]
    ids = [earliest_id(IdPrefix.ACTION, one) for one in starts]
    bounds = {"floors": ids[:-1], "ceilings": ids[1:], "characters": _BEGINNING_CHARACTERS}
    async with database.transaction(org_id) as connection:
        agents = await _texts(connection, _AGENTS, {"org": org_id, "most": VALUES_MAX})
        # As in agent_figures: reading by the index stops at the limit, which a bitmap does not.
        await connection.execute(
            "SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)"
        )
        tools = await _texts(connection, _TOOLS, {"org": org_id, "most": VALUES_MAX})
        cursor = await connection.execute(_RECENT, {"org": org_id, "most": LOOKED_AT_MAX // _DAYS, **bounds})
        recent = await cursor.fetchall()
        callers = await agent_names(connection, org_id, {row["agent_id"] for row in recent})
    hosts = await asyncio.to_thread(_hosts, [row["beginning"] for row in recent if row["beginning"]])
    operations = {str(row["operation"]) for row in recent}
    return FilterValues(sorted({*agents, *callers.values()}), tools, sorted(operations)[:VALUES_MAX], hosts)


async def _texts(connection: Connection, statement: str, values: Mapping[str, Any]) -> list[str]:
    rows = await (await connection.execute(statement, values)).fetchall()
    return [str(text) for row in rows for text in row.values()]


def _hosts(beginnings: Iterable[str]) -> list[str]:
    found = set()
    for one in beginnings:
        http = read_beginning(one)[0].get("http")
        if isinstance(http, dict) and isinstance(host := http.get("host"), str):
            found.add(host)
    return sorted(found)[:VALUES_MAX]
