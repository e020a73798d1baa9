"""Reads the journal in the database, and writes the results of a round."""

import os
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from psycopg.rows import tuple_row
from regorus import seal_events

from headgate.actions.entry_lane import DIGEST_BYTES, Written, total_decompressed_bytes
from headgate.actions.recorded_entry import OutcomeEntry
from headgate.audit.chain import genesis
from headgate.db.arrays import (
    BOOLEANS,
    BYTEAS,
    INSTANTS,
    INTEGERS,
    NULL,
    TEXTS,
    Column,
    EncodedArray,
    array_of,
    element,
)
from headgate.db.database import Connection
from headgate.journal.completeness import WriterCount
from headgate.journal.round import EventEntry, Round
from headgate.kernel.entry_codes import Checker, Signer

_ROUND_BYTES_MAX: Final = 4 << 20
_LOCK_TIMEOUT: Final = "2s"
_COUNT: Final = struct.Struct(f">q{DIGEST_BYTES}sqqq")

_LOCK_IF_FREE: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended('headgate.seal ' || %s, 0)) AS locked"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('headgate.seal ' || %s, 0))"

# Times are bytes, too, as array elements are: microseconds since 2000.
_ROWS: Final = """
    SELECT j.journal_id, j.entries, convert_to(j.event_type, 'UTF8'), convert_to(j.action_id, 'UTF8'),
           convert_to(j.agent_id, 'UTF8'), timestamptz_send(j.created_at), convert_to(j.payload, 'UTF8'), j.found
    FROM (SELECT x.*, count(*) OVER () AS found, sum(x.bytes) OVER (ORDER BY x.journal_id) - x.bytes AS bytes_before
          FROM (SELECT *, coalesce(octet_length(i.entries), octet_length(i.payload)) AS bytes
                FROM journal i WHERE i.org_id = %s ORDER BY i.journal_id LIMIT %s) x) j
    WHERE j.bytes_before < %s ORDER BY j.journal_id
"""

# A chain never goes back in time, whatever the clock does.
_HEAD: Final = """
    SELECT h.seq, h.hash, timestamptz_send(greatest(clock_timestamp(), h.sealed_at))
    FROM (SELECT 1) AS always LEFT JOIN LATERAL (
        SELECT c.seq, c.hash, c.sealed_at FROM audit_chain c WHERE c.org_id = %s ORDER BY c.seq DESC LIMIT 1) h ON true
"""

_END: Final = "SELECT convert_to(x, 'UTF8') FROM unnest(end_executions(%s, %s, %s, %s, %s, %s)) AS x"

_EVENT: Final = (
    ("event_type", TEXTS),
    ("action_id", TEXTS),
    ("agent_id", TEXTS),
    ("created_at", INSTANTS),
    ("payload", TEXTS),
)
_ACTION: Final = (
    ("action_id", TEXTS), ("agent_id", TEXTS), ("key_id", TEXTS), ("source", TEXTS), ("tool", TEXTS),
    ("operation", TEXTS), ("status", TEXTS), ("digest", BYTEAS), ("request", TEXTS), ("decision", TEXTS),
    ("risk_level", TEXTS), ("parent_action_id", TEXTS), ("created_at", INSTANTS), ("updated_at", INSTANTS),
)  # fmt: skip
_EXECUTION: Final = (
    ("execution_id", TEXTS), ("action_id", TEXTS), ("instance_id", TEXTS), ("status", TEXTS),
    ("started_at", INSTANTS), ("completed_at", INSTANTS), ("error", TEXTS), ("result", TEXTS),
)  # fmt: skip
_OUTCOME: Final = (
    ("execution_id", TEXTS), ("succeeded", BOOLEANS), ("completed_at", INSTANTS), ("error", TEXTS), ("result", TEXTS),
)  # fmt: skip

# journal_ids, first seq, sealed at; identifiers, headers, hashes, salts; events, actions, executions.
_APPLY: Final = (
    "SELECT apply_journal(%s, %s, %s, '2000-01-01 00:00Z'::timestamptz + %s * interval '1 microsecond', {})".format(
        ", ".join(["%s"] * (4 + len(_EVENT) + len(_ACTION) + len(_EXECUTION)))
    )
)


_COUNTS: Final = """
    SELECT writer, applied, digest, before, position, missing, mark, code FROM journal_writers
    WHERE org_id = %s AND writer = ANY (%s)
"""


class JournalRow(NamedTuple):
    """One row: one event, or encoded entries."""

    journal_id: int
    entries: bytes | None
    event: EventEntry


async def has_journal(connection: Connection, org_id: str) -> bool:
    """Whether the organization has rows in the journal."""
    cursor = await connection.execute("SELECT EXISTS (SELECT FROM journal WHERE org_id = %s) AS found", [org_id])
    row = await cursor.fetchone()
    return row is not None and bool(row["found"])


async def lock_chain_for_reader(connection: Connection, org_id: str) -> None:
    """Locks the organization's chain until the transaction ends. Waits as long as a reader should."""
    await connection.execute("SELECT set_config('lock_timeout', %s, true)", [_LOCK_TIMEOUT])
    await connection.execute(_LOCK, [org_id])


async def lock_chain_if_free(connection: Connection, org_id: str) -> bool:
    """As ``lock_chain_for_reader``. False if another process has it."""
    row = await (await connection.execute(_LOCK_IF_FREE, [org_id])).fetchone()
    return row is not None and bool(row["locked"])


async def read_journal(connection: Connection, org_id: str, limit: int) -> tuple[list[JournalRow], bool]:
    """The oldest rows, and whether there may be more: at most ``limit`` rows, and about 4 MiB, both compressed and
    decompressed."""
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute(_ROWS, [org_id, limit, _ROUND_BYTES_MAX])
        found = await cursor.fetchall()
    rows = [JournalRow(row[0], row[1], EventEntry(*map(_element, row[2:7]))) for row in found]
    taken = _rows_of_a_round(rows)
    return taken, bool(found) and (found[0][7] == limit or found[0][7] > len(taken))


def _rows_of_a_round(rows: list[JournalRow]) -> list[JournalRow]:
    """The first rows whose decompressed entries fit into a round, at least one row. An agent can send text that is 250
    times as large after decompression."""
    size = 0
    for position, row in enumerate(rows):
        size += 0 if row.entries is None else total_decompressed_bytes(row.entries)
        if size > _ROUND_BYTES_MAX and position:
            return rows[:position]
    return rows


async def end_executions(connection: Connection, org_id: str, outcomes: Sequence[OutcomeEntry]) -> set[bytes]:
    """Ends executions that have their rows; returns those that had not ended before."""
    if not outcomes:
        return set()
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute(_END, [org_id, *_arrays(_OUTCOME, outcomes)])
        return {element(row[0]) for row in await cursor.fetchall()}


async def apply_round(connection: Connection, org_id: str, journal_ids: Sequence[int], planned: Round) -> None:
    """Seals the events and writes everything; deletes these rows of the journal. Raises ValueError for an event that
    a header cannot describe."""
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute(_HEAD, [org_id])
        head = await cursor.fetchone()
        if head is None:
            raise RuntimeError("a row that is always there")
        seq = 1 if head[0] is None else head[0] + 1
        sealed = int.from_bytes(head[2], "big", signed=True)
        count = len(planned.events)
        previous = genesis(org_id) if head[1] is None else head[1]
        ids, headers, hashes, salts = seal_events(
            org_id.encode(), seq, previous, sealed, os.urandom(32), planned.events
        )
        await cursor.execute(
            _APPLY,
            [
                org_id,
                array_of(INTEGERS, len(journal_ids), b"".join(map(INTEGERS.element, journal_ids))),
                seq,
                sealed,
                array_of(TEXTS, count, ids),
                array_of(TEXTS, count, headers),
                array_of(BYTEAS, count, hashes),
                array_of(BYTEAS, count, salts),
                *_arrays(_EVENT, planned.events),
                *_arrays(_ACTION, planned.actions),
                *_arrays(_EXECUTION, planned.executions),
            ],
        )


async def read_counts(
    connection: Connection, org_id: str, writers: Collection[bytes], checker: Checker
) -> dict[bytes, WriterCount]:
    """Of those writers that have one. One whose code does not fit counts nothing: the database's owner changed it."""
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute(_COUNTS, [org_id, list(writers)])
        found = await cursor.fetchall()
    counts = {row[0]: (WriterCount(Written(row[1], row[2]), (row[3], row[4]), row[5]), row[6], row[7]) for row in found}
    return {
        writer: one
        for writer, (one, mark, code) in counts.items()
        if checker.is_valid(_counted(org_id, writer, one), mark, code)
    }


async def write_counts(
    connection: Connection, org_id: str, counts: Mapping[bytes, WriterCount], signer: Signer
) -> None:
    """In place of those of the same writers."""
    if counts:
        await connection.execute(
            "SELECT count_entries(%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                org_id,
                list(counts),
                [one.applied.number for one in counts.values()],
                [one.applied.digest for one in counts.values()],
                [one.place[0] for one in counts.values()],
                [one.place[1] for one in counts.values()],
                [one.missing for one in counts.values()],
                [signer.mark] * len(counts),
                [signer.code(_counted(org_id, writer, one)) for writer, one in counts.items()],
            ],
        )


async def forget_writers(connection: Connection) -> None:
    """The counts of writers that have had another name for long, over all organizations."""
    await connection.execute("SELECT forget_writers()")


def _counted(org_id: str, writer: bytes, one: WriterCount) -> bytes:
    # No entry's message begins so: an identifier of an organization has no NUL, and is not empty.
    return b"\0" + org_id.encode() + b"\0" + writer + _COUNT.pack(*one.applied, *one.place, one.missing)


async def organizations_due(connection: Connection) -> list[str]:
    """Organizations with rows in the journal."""
    cursor = await connection.execute("SELECT org_id FROM journal_due()")
    return [row["org_id"] for row in await cursor.fetchall()]


def _element(value: bytes | None) -> bytes:
    return NULL if value is None else element(value)


def _arrays(fields: Sequence[tuple[str, Column]], rows: Sequence[tuple[bytes, ...]]) -> Iterator[EncodedArray]:
    for name, column in fields:
        yield array_of(column, len(rows), b"".join(map(attrgetter(name), rows)))
