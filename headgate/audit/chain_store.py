"""The chain as it is stored: which run lies in a range of time, and its events as a stream for verification."""

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Final

from psycopg.rows import TupleRow, tuple_row

from headgate.audit.chain import StoredEvent
from headgate.db.database import Connection

_WINDOW_EVENTS: Final = 500  # few enough that verifying them does not hold up the event loop

_RANGE: Final = """
    SELECT min(seq) AS first, max(seq) AS last FROM audit_chain
    WHERE org_id = %(org)s AND sealed_at BETWEEN coalesce(%(start)s::timestamptz, '-infinity')
                                             AND coalesce(%(end)s::timestamptz, 'infinity')
"""

_AROUND: Final = """
    SELECT (SELECT seq FROM audit_chain WHERE org_id = %(org)s AND sealed_at < %(start)s::timestamptz
            ORDER BY sealed_at DESC, seq DESC LIMIT 1) AS preceding,
           (SELECT seq FROM audit_chain WHERE org_id = %(org)s AND sealed_at > %(end)s::timestamptz
            ORDER BY sealed_at, seq LIMIT 1) AS following
"""

_FOLLOWING: Final = "SELECT min(seq) AS seq FROM audit_chain WHERE org_id = %s AND seq > %s"

# A window of the run at a time, bounded on both sides by values: the planner joins and sorts it in memory. One
# cursor over the whole run sorts all of it on disk first (measured: half the speed, and no first row for long).
_STREAM: Final = """
    SELECT c.seq, c.header, c.hash, c.sealed_at, e.event_id, e.event_type, e.action_id, e.agent_id, e.created_at,
           e.sealed_at, e.salt, e.payload
    FROM audit_chain c
    LEFT JOIN audit_events e ON e.org_id = c.org_id AND e.seq = c.seq
        AND e.org_id = %(org)s AND e.seq BETWEEN %(first)s AND %(last)s
    WHERE c.org_id = %(org)s AND c.seq BETWEEN %(first)s AND %(last)s
    ORDER BY c.seq
"""


async def range_of(
    connection: Connection, org_id: str, start: datetime | None, end: datetime | None
) -> tuple[int, int] | None:
    """The first and last ``seq`` sealed in a range of time (both ends inclusive); None where it is empty.

    Where nothing lies in the range although the chain's numbers say that something did, these numbers are
    the run, so that verifying it finds them missing.
    """
    values = {"org": org_id, "start": start, "end": end}
    row = await (await connection.execute(_RANGE, values)).fetchone()
    if row is not None and row["first"] is not None:
        return int(row["first"]), int(row["last"])
    around = await (await connection.execute(_AROUND, values)).fetchone()
    if around is None or around["following"] is None:
        return None
    first, last = int(around["preceding"] or 0) + 1, int(around["following"]) - 1
    return (first, last) if first <= last else None


async def stream_chain(
    connection: Connection, org_id: str, first_seq: int, last_seq: int
) -> AsyncGenerator[StoredEvent]:
    """The run and its neighbours (ChainVerifier wants them), a window at a time: constant memory."""
    following = await (await connection.execute(_FOLLOWING, [org_id, last_seq])).fetchone()
    end = last_seq if following is None or following["seq"] is None else int(following["seq"])
    row: TupleRow
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        for first in range(first_seq - 1, end + 1, _WINDOW_EVENTS):
            window = {"org": org_id, "first": first, "last": min(first + _WINDOW_EVENTS - 1, end)}
            await cursor.execute(_STREAM, window)
            async for row in cursor:
                yield StoredEvent(*row)
