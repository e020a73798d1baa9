"""Reads events in the order of the chain from a given position, for streams that can be resumed.

``seq`` has no gaps and only rises, so a reader that has seen one event has seen all before it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from psycopg import sql

from headgate.audit.chain import StoredEvent
from headgate.audit.chain_verifier import ChainFault, checked_header
from headgate.audit.model import Actor, EventType
from headgate.audit.payload import NO_PAYLOAD, read_payload
from headgate.audit.stored_events import SELECT, read_events
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject

_AFTER: Final = sql.SQL("{} WHERE e.org_id = %s AND e.seq > %s AND e.event_type IN ({}) ORDER BY e.seq LIMIT %s")


class FeedEvent(Struct, frozen=True):
    """``actor`` is None and ``data`` empty where the payload was erased."""

    seq: int
    event_type: str
    action_id: str | None
    agent_id: str | None
    created_at: datetime
    actor: Actor | None
    data: JsonObject


async def newest_seq(connection: Connection, org_id: str) -> int:
    """Where the chain ends now; 0: it has not begun."""
    cursor = await connection.execute(
        "SELECT coalesce(max(seq), 0) AS seq FROM audit_chain WHERE org_id = %s", [org_id]
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row["seq"])


async def newest_seq_of_type(connection: Connection, org_id: str, event_type: EventType) -> int:
    """Of one of the rare types, which have an index; 0: there is none."""
    query = sql.SQL("SELECT seq FROM audit_events WHERE org_id = %s AND event_type = {} ORDER BY seq DESC LIMIT 1")
    row = await (await connection.execute(query.format(sql.Literal(event_type.value)), [org_id])).fetchone()
    return 0 if row is None else int(row["seq"])


async def events_after(
    connection: Connection, org_id: str, seq: int, types: Sequence[EventType], limit: int
) -> list[FeedEvent]:
    """Up to ``limit`` events of these types behind ``seq``, oldest first; what was not sealed as it stands is none."""
    # Literals, so that the planner knows them to be among those of the index of the rare types.
    query = _AFTER.format(SELECT, sql.SQL(", ").join(sql.Literal(one.value) for one in types))
    while rows := await read_events(connection, query, [org_id, seq, limit]):
        found = [one for one in (_feed_event(org_id, row) for row in rows) if one is not None]
        if found or len(rows) < limit:
            return found
        seq = rows[-1].seq
    return []


def _feed_event(org_id: str, event: StoredEvent) -> FeedEvent | None:
    if isinstance(checked_header(org_id, event), ChainFault):
        return None
    if event.event_type is None or not isinstance(event.created_at, datetime):
        return None
    payload = NO_PAYLOAD if event.payload is None else read_payload(event.payload) or NO_PAYLOAD
    return FeedEvent(
        event.seq, event.event_type, event.action_id, event.agent_id, event.created_at, payload.actor, payload.data
    )
