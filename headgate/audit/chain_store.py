"""The chain as it is stored: which run lies in a range of time, and its events as a stream for verification."""

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from typing import Final, NamedTuple, cast

import psycopg
from psycopg.rows import TupleRow, tuple_row
from psycopg.types.numeric import Int8BinaryLoader
from psycopg.types.string import ByteaBinaryLoader

from headgate.audit.any_time import AnyTimeLoader
from headgate.audit.chain import StoredEvent
from headgate.audit.window_check import WindowRow
from headgate.db.database import Connection, awaited_in_thread

_SEARCHED_EVENTS: Final = 50_000
_STREAM_EVENTS: Final = 500  # few enough that verifying them does not hold up the event loop
WINDOW_EVENTS: Final = 2_000
"""What is fetched and checked at once (measured: fewer wait for the server, more leave the processor's cache)."""

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

# In canonical JSON a quote within the reason is escaped, so that no reason looks like the depth.
_ERASURES: Final = """
    SELECT e.seq, e.action_id, c.header, e.salt, e.payload
    FROM audit_events e JOIN audit_chain c ON c.org_id = e.org_id AND c.seq = e.seq
    WHERE e.org_id = %s AND e.action_id = ANY (%s) AND e.event_type = 'body.erased'
      AND e.payload LIKE '%%"depth":"everything"%%' AND e.salt IS NOT NULL
"""

# The chain's end is read in the same statement: what is sealed meanwhile is in both tables or in none.
_OUTSIDE: Final = """
    SELECT o.seq, o.event_id FROM (
        (SELECT e.seq, e.event_id FROM audit_events e WHERE e.org_id = %(org)s AND e.seq < 1
            AND e.sealed_at BETWEEN coalesce(%(start)s::timestamptz, '-infinity')
                                AND coalesce(%(end)s::timestamptz, 'infinity')
         ORDER BY e.seq LIMIT 1)
        UNION ALL
        (SELECT e.seq, e.event_id FROM audit_events e WHERE e.org_id = %(org)s
            AND e.seq > coalesce((SELECT max(c.seq) FROM audit_chain c WHERE c.org_id = %(org)s), 0)
            AND e.sealed_at BETWEEN coalesce(%(start)s::timestamptz, '-infinity')
                                AND coalesce(%(end)s::timestamptz, 'infinity')
         ORDER BY e.seq LIMIT 1)
    ) o ORDER BY o.seq LIMIT 1
"""

_FOLLOWING: Final = "SELECT min(seq) AS seq FROM audit_chain WHERE org_id = %s AND seq > %s"

_BY_HASH: Final = """
    SELECT max(seq) AS seq FROM audit_chain WHERE org_id = %s AND seq BETWEEN %s AND %s AND hash = %s
"""

# A window of the run at a time, bounded on both sides by values: the planner joins and sorts it in memory. One
# cursor over the whole run sorts all of it on disk first (measured: half the speed, and no first row for long). Nothing
# is put together or compared here: the server takes longer to write one header than to send all of its row.
_EVENTS: Final = """
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


async def first_outside(
    connection: Connection, org_id: str, start: datetime | None, end: datetime | None
) -> tuple[int, str] | None:
    """The number and identifier of the first event that says it was sealed in a range of time, and lies before or
    behind all that the chain knows."""
    row = await (await connection.execute(_OUTSIDE, {"org": org_id, "start": start, "end": end})).fetchone()
    return None if row is None else (int(row["seq"]), row["event_id"])


async def stream_chain(
    connection: Connection, org_id: str, first_seq: int, last_seq: int
) -> AsyncGenerator[StoredEvent]:
    """The run and its neighbours (ChainVerifier wants them), a window at a time: constant memory."""
    following = await (await connection.execute(_FOLLOWING, [org_id, last_seq])).fetchone()
    end = last_seq if following is None or following["seq"] is None else int(following["seq"])
    row: TupleRow
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        cursor.adapters.register_loader("timestamptz", AnyTimeLoader)
        for first in range(first_seq - 1, end + 1, _STREAM_EVENTS):
            window = {"org": org_id, "first": first, "last": min(first + _STREAM_EVENTS - 1, end)}
            await cursor.execute(_EVENTS, window)
            async for row in cursor:
                yield StoredEvent(*row)


class StoredHeader(NamedTuple):
    header: str
    hash: bytes


async def stored_header(connection: Connection, org_id: str, seq: int) -> StoredHeader | None:
    """One row of the chain, as it is stored."""
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute("SELECT header, hash FROM audit_chain WHERE org_id = %s AND seq = %s", [org_id, seq])
        row = await cursor.fetchone()
    return None if row is None else StoredHeader(*row)


async def headers_at(connection: Connection, org_id: str, seq: int) -> list[StoredHeader]:
    """All rows of one number: the table allows one, and whoever owns it can change that."""
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute("SELECT header, hash FROM audit_chain WHERE org_id = %s AND seq = %s", [org_id, seq])
        return [StoredHeader(*row) for row in await cursor.fetchall()]


async def number_of(connection: Connection, org_id: str, digest: bytes, before: int) -> int | None:
    """The nearest event before a number that has this hash. No index knows; each statement is a short one."""
    for last in range(before - 1, 0, -_SEARCHED_EVENTS):
        found = await connection.execute(_BY_HASH, [org_id, last - _SEARCHED_EVENTS + 1, last, digest])
        row = await found.fetchone()
        if row is not None and row["seq"] is not None:
            return int(row["seq"])
    return None


class RecordedErasure(NamedTuple):
    """An event that may say that all of an action was erased, with what shows that it was sealed so."""

    seq: int
    action_id: str
    header: str
    salt: bytes
    payload: str


async def recorded_erasures(connection: Connection, org_id: str, action_ids: Sequence[str]) -> list[RecordedErasure]:
    """Those of these actions."""
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute(_ERASURES, [org_id, list(action_ids)])
        return [RecordedErasure(*row) for row in await cursor.fetchall()]


async def fetch_window(connection: Connection, org_id: str, first_seq: int, last_seq: int) -> list[WindowRow]:
    """Rows for ``WindowCheck``, by ``seq``, as they came: nothing is decoded that is only compared."""
    async with await ask_window(connection, org_id, first_seq, last_seq) as cursor:
        return cast("list[WindowRow]", await cursor.fetchall())


async def ask_window(
    connection: Connection, org_id: str, first_seq: int, last_seq: int
) -> psycopg.AsyncCursor[TupleRow]:
    """The same, of which no rows have been made yet."""
    cursor = connection.cursor(row_factory=tuple_row, binary=True)
    cursor.adapters.register_loader("text", ByteaBinaryLoader)
    cursor.adapters.register_loader("timestamptz", Int8BinaryLoader)
    with awaited_in_thread(connection):
        await cursor.execute(_EVENTS, {"org": org_id, "first": first_seq, "last": last_seq})
    return cursor
