"""What executions add up to: the queue, the newest that ended, and each destination's breaker.

The same few rows are read however much is stored: counts end at a limit, and figures are of a sample.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.db.bounded_count import EXACT_TOTAL_LIMIT
from headgate.db.database import Connection
from headgate.executions.list_store import BY_INDEX
from headgate.kernel.errors import NotFoundError

SAMPLE: Final = 2_000
_TOOLS_MAX: Final = 100
_WAITING: Final = """
    WITH calls AS NOT MATERIALIZED (SELECT state, action_id, due_at, queued_at FROM execution_calls
        WHERE org_id = %(org)s AND (%(agent)s::text IS NULL OR agent_id = %(agent)s)),
    waiting AS MATERIALIZED (
        SELECT due_at, queued_at FROM calls WHERE state = 'queued' ORDER BY due_at LIMIT %(most)s)
    SELECT count(*) FILTER (WHERE due_at <= clock_timestamp()) AS queued,
           count(*) FILTER (WHERE due_at > clock_timestamp()) AS scheduled,
           extract(epoch FROM clock_timestamp() - min(queued_at))::float AS oldest,
           (SELECT count(*) FROM (SELECT FROM calls WHERE state = 'running' LIMIT %(most)s) running) AS running,
           (SELECT count(*) FROM (SELECT FROM calls WHERE state = 'failed' ORDER BY action_id LIMIT %(most)s) failed)
               AS failed
    FROM waiting
"""
_NEWEST: Final = sql.SQL("""
    SELECT a.tool, e.status, e.started_at, e.completed_at
    FROM executions e JOIN actions a ON a.org_id = e.org_id AND a.action_id = e.action_id
    WHERE e.org_id = %(org)s AND e.completed_at IS NOT NULL ORDER BY e.completed_at DESC LIMIT %(sample)s
""")
_NEWEST_OF_AGENT: Final = sql.SQL("""
    SELECT a.tool, e.status, e.started_at, e.completed_at
    FROM actions a JOIN executions e ON a.org_id = e.org_id AND a.action_id = e.action_id
    WHERE a.org_id = %(org)s AND a.agent_id = %(agent)s ORDER BY a.action_id DESC LIMIT %(sample)s
""")
_ENDED: Final = """
    WITH newest AS MATERIALIZED ({}),
    ended AS (SELECT tool, status, completed_at, extract(epoch FROM completed_at - started_at) * 1000 AS took_ms
              FROM newest WHERE completed_at >= clock_timestamp() - %(window)s)
    SELECT tool, count(*) AS ended, count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
           percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY took_ms)::float[] AS percentiles,
           extract(epoch FROM clock_timestamp() - min(completed_at))::float AS since,
           (SELECT count(*) = %(sample)s AND coalesce(bool_and(completed_at >= clock_timestamp() - %(window)s), false)
            FROM newest) AS is_cut
    FROM ended GROUP BY GROUPING SETS ((tool), ()) ORDER BY tool IS NOT NULL, count(*) DESC, tool
"""


class ToolStatistics(Struct, frozen=True):
    tool: str
    succeeded: int
    failed: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


class ExecutionStatistics(Struct, frozen=True):
    """``queued`` may run now, ``scheduled`` wait for their time; of what waits, runs and has failed the first 10,000
    each are counted. Of the executions that ended within the window the newest ``sampled`` are added up, over
    ``sampled_seconds``."""

    queued: int
    scheduled: int
    oldest_queued_seconds: float
    running: int
    retryable: int
    sampled: int
    sampled_seconds: float
    overall: ToolStatistics | None
    tools: Sequence[ToolStatistics]


class DestinationState(Struct, frozen=True):
    """One destination's breaker. ``failures`` in a row."""

    destination: str
    failures: int
    open_until: datetime | None
    running: int
    updated_at: datetime


class WaitingExecutions(Struct, frozen=True):
    """As in ``ExecutionStatistics``: the first 10,000 of each are counted. ``retryable``: failed, call still stored."""

    queued: int
    scheduled: int
    oldest_queued_seconds: float
    running: int
    retryable: int


async def waiting_executions(connection: Connection, org_id: str, agent_id: str | None = None) -> WaitingExecutions:
    """Headgate's queue of an organization, or of one agent in it."""
    values = {"org": org_id, "agent": agent_id, "most": EXACT_TOTAL_LIMIT}
    await connection.execute(BY_INDEX)
    row = await (await connection.execute(_WAITING, values, prepare=False)).fetchone()
    if row is None:  # an aggregate always answers
        raise NotFoundError("no statistics")
    return WaitingExecutions(row["queued"], row["scheduled"], row["oldest"] or 0.0, row["running"], row["failed"])


async def statistics(
    connection: Connection, org_id: str, *, window: timedelta, agent_id: str | None
) -> ExecutionStatistics:
    """Of Headgate's queue, and of all executions that ended within ``window``."""
    values: dict[str, object] = {"org": org_id, "agent": agent_id, "window": window, "sample": SAMPLE}
    waiting = await waiting_executions(connection, org_id, agent_id)
    newest = _NEWEST if agent_id is None else _NEWEST_OF_AGENT
    ended = await (await connection.execute(sql.SQL(_ENDED).format(newest), values, prepare=False)).fetchall()
    tools = [_tool(row) for row in ended if row["tool"] is not None][:_TOOLS_MAX]
    whole = next((row for row in ended if row["tool"] is None and row["ended"]), None)
    return ExecutionStatistics(
        queued=waiting.queued,
        scheduled=waiting.scheduled,
        oldest_queued_seconds=waiting.oldest_queued_seconds,
        running=waiting.running,
        retryable=waiting.retryable,
        sampled=0 if whole is None else whole["ended"],
        sampled_seconds=window.total_seconds() if whole is None or not whole["is_cut"] else whole["since"],
        overall=None if whole is None else _tool(whole),
        tools=tools,
    )


async def destination_states(connection: Connection, org_id: str, *, limit: int) -> Sequence[DestinationState]:
    """Those that fail first, then by name."""
    cursor = await connection.execute(
        "SELECT d.destination, d.failures, d.open_until, d.updated_at, (SELECT count(*) FROM execution_calls c"
        " WHERE c.org_id = d.org_id AND c.destination = d.destination AND c.state = 'running') AS running"
        " FROM destinations d WHERE d.org_id = %s ORDER BY d.failures DESC, d.destination LIMIT %s",
        [org_id, limit],
    )
    return [
        DestinationState(row["destination"], row["failures"], row["open_until"], row["running"], row["updated_at"])
        for row in await cursor.fetchall()
    ]


async def breaker_states(connection: Connection, *, breaker_failures: int) -> dict[str, int]:
    """How many destinations are in which state, over all organizations: numbers and no names."""
    row = await (await connection.execute("SELECT * FROM breaker_states(%s)", [breaker_failures])).fetchone()
    return {} if row is None else {name: int(row[name]) for name in ("closed", "open", "half_open")}


def _tool(row: DictRow) -> ToolStatistics:
    p50, p95, p99 = (round(one or 0.0, 3) for one in row["percentiles"])
    return ToolStatistics(row["tool"] or "", row["succeeded"], row["ended"] - row["succeeded"], p50, p95, p99)
