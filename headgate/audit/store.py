"""The record in the database: append to the journal, list. Reading the chain itself: ``chain_store``."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from psycopg import sql

from headgate.audit.chain import numbers_of
from headgate.audit.event_rows import sealed_event
from headgate.audit.feed_store import newest_seq
from headgate.audit.find import SEARCHED_EVENTS, Finder, finder
from headgate.audit.model import Event, EventFilter, EventPage, EventType, SealedEvent
from headgate.audit.stored_events import SELECT, read_events
from headgate.audit.written_events import WrittenEvent, note_events
from headgate.db.bounded_count import Shown
from headgate.db.database import Connection
from headgate.kernel.errors import NotFoundError, ValidationError

_APPEND: Final = """
    INSERT INTO journal (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT %s, e.event_type, e.action_id, e.agent_id, e.created_at, e.payload
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::text[]) WITH ORDINALITY
        AS e(event_type, action_id, agent_id, created_at, payload, position)
    ORDER BY e.position
"""


async def append(connection: Connection, org_id: str, events: Sequence[Event]) -> None:
    """Append events to the journal, in this order: durable with the transaction, sealed a moment later."""
    if not events:
        return
    written = [
        WrittenEvent(event.event_type.value, event.action_id, event.agent_id, event.created_at, event.payload())
        for event in events
    ]
    event_types, action_ids, agent_ids, instants, payloads = map(list, zip(*written, strict=True))
    await connection.execute(_APPEND, [org_id, event_types, action_ids, agent_ids, instants, payloads])
    note_events(connection, org_id, written)


async def record_refusals(
    connection: Connection, refusals: Sequence[tuple[str, str, str]], created_at: datetime
) -> None:
    """``request.refused`` for each (organization, agent, payload), over all organizations."""
    org_ids, agent_ids, payloads = zip(*refusals, strict=True)
    cursor = await connection.execute(
        "SELECT record_refusals(%s::text[], %s::text[], %s::timestamptz[], %s::text[]) AS written",
        [list(org_ids), list(agent_ids), [created_at] * len(refusals), list(payloads)],
    )
    row = await cursor.fetchone()
    known = set() if row is None else set(row["written"])
    for org_id, agent_id, payload in refusals:
        if f"{org_id} {agent_id}" not in known:
            continue
        refused = WrittenEvent(EventType.REQUEST_REFUSED.value, None, agent_id, created_at, payload)
        note_events(connection, org_id, [refused])


class JournalLag(Struct, frozen=True):
    """How far the applier is behind, over all organizations: rows of the journal, the age of the oldest, entries that
    were set aside, and entries that were written and never reached it."""

    rows: int
    oldest_seconds: float
    set_aside: int
    missing: int


async def journal_lag(connection: Connection) -> JournalLag:
    """The lag over all organizations."""
    row = await (
        await connection.execute("SELECT rows, oldest_seconds, set_aside, missing FROM journal_lag()")
    ).fetchone()
    if row is None:
        return JournalLag(0, 0.0, 0, 0)
    return JournalLag(int(row["rows"]), float(row["oldest_seconds"]), int(row["set_aside"]), int(row["missing"]))


async def ensure_partitions(connection: Connection) -> None:
    """Make the partitions of this month and the next."""
    await connection.execute("SELECT ensure_audit_partitions()")


async def get_event(connection: Connection, org_id: str, event_id: str) -> SealedEvent:
    """Raises NotFoundError."""
    query = sql.SQL("{} WHERE e.org_id = %s AND e.seq = ANY (%s) AND e.event_id = %s").format(SELECT)
    numbers = numbers_of(event_id, await newest_seq(connection, org_id))
    found = await read_events(connection, query, [org_id, numbers, event_id])
    if not found:
        raise NotFoundError(f"no audit event {event_id}")
    return sealed_event(org_id, found[0])


async def list_events(
    connection: Connection,
    org_id: str,
    wanted: EventFilter,
    *,
    limit: int = 50,
    offset: int = 0,
    cursor: str | None = None,
    exact_total: bool = False,
) -> EventPage:
    """Newest first. ``cursor`` continues after a page's last event, whatever was sealed since.

    Of a search (``EventFilter.is_search``) a page looks through ``SEARCHED_EVENTS`` that the rest of the filter leaves:
    it may hold fewer than ``limit``, its total is what it found, and its cursor continues the search.
    """
    before = None if cursor is None else _seq_of(cursor)
    find = await finder(connection, org_id, wanted)
    if wanted.is_search:
        return await _search(find, limit, offset, before)
    seqs = await find.seqs(limit, offset, before)
    total, is_minimum = Shown(len(seqs), limit, offset, cursor).total or await find.count(exact=exact_total)
    return EventPage(
        events=await load_events(connection, org_id, seqs),
        total=total,
        total_is_minimum=is_minimum,
        next_cursor=str(seqs[-1]) if len(seqs) == limit else None,
    )


async def _search(find: Finder, limit: int, offset: int, before: int | None) -> EventPage:
    candidates = await find.seqs(SEARCHED_EVENTS, 0, before)
    found = await find.searched(candidates)
    shown = found[offset : offset + limit]
    is_more = len(candidates) == SEARCHED_EVENTS
    if len(found) > offset + limit:
        next_cursor: int | None = shown[-1]
    else:
        next_cursor = candidates[-1] if is_more else None
    return EventPage(
        events=await load_events(find.connection, find.org_id, shown),
        total=len(found),
        total_is_minimum=is_more,
        next_cursor=None if next_cursor is None else str(next_cursor),
    )


async def events_before(
    connection: Connection, org_id: str, wanted: EventFilter, before: int, limit: int
) -> tuple[list[SealedEvent], int | None]:
    """A stretch of a walk through all of them, newest first, and where it goes on; None: it is over."""
    find = await finder(connection, org_id, wanted)
    if wanted.is_search:
        candidates = await find.seqs(SEARCHED_EVENTS, 0, before)
        found = (await find.searched(candidates))[:limit]
        is_over = len(found) < limit and len(candidates) < SEARCHED_EVENTS
        going_on = found[-1] if len(found) == limit else candidates[-1] if candidates else None
        return await load_events(connection, org_id, found), None if is_over else going_on
    seqs = await find.seqs(limit, 0, before)
    return await load_events(connection, org_id, seqs), seqs[-1] if len(seqs) == limit else None


async def load_events(connection: Connection, org_id: str, seqs: Sequence[int]) -> list[SealedEvent]:
    """Those with these numbers, newest first."""
    if not seqs:
        return []
    query = sql.SQL("{} WHERE e.org_id = %s AND e.seq = ANY (%s) ORDER BY e.seq DESC").format(SELECT)
    return [sealed_event(org_id, event) for event in await read_events(connection, query, [org_id, list(seqs)])]


def _seq_of(cursor: str) -> int:
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise ValidationError("not a cursor of this list", details={"field": "cursor"})
    return int(cursor)
