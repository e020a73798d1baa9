"""The record in the database: append to the inbox, seal, list. Reading the chain itself: ``chain_store``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg import sql
from psycopg.rows import DictRow

from headgate.audit.chain import prev_hash_of
from headgate.audit.model import Actor, ActorType, Event, EventFilter, EventPage, SealedEvent
from headgate.db.bounded_count import count_rows
from headgate.db.database import Connection
from headgate.db.rounds import Share
from headgate.kernel.errors import NotFoundError, ValidationError

_APPEND: Final = """
    INSERT INTO audit_inbox (org_id, event_type, action_id, agent_id, created_at, payload)
    SELECT %s, e.event_type, e.action_id, e.agent_id, e.created_at, e.payload
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::text[]) WITH ORDINALITY
        AS e(event_type, action_id, agent_id, created_at, payload, position)
    ORDER BY e.position
"""

_SELECT: Final = sql.SQL("""
    SELECT e.seq, e.event_id, e.event_type, e.action_id, e.agent_id, e.created_at, e.sealed_at, e.payload,
           c.hash, c.header
    FROM audit_events e JOIN audit_chain c ON c.org_id = e.org_id AND c.seq = e.seq
""")


async def append(connection: Connection, org_id: str, events: Sequence[Event]) -> None:
    """Write events into the inbox, in this order: durable with the transaction, sealed a moment later."""
    if not events:
        return
    await connection.execute(
        _APPEND,
        [
            org_id,
            [event.event_type.value for event in events],
            [event.action_id for event in events],
            [event.agent_id for event in events],
            [event.created_at for event in events],
            [event.payload() for event in events],
        ],
    )


async def record_refusals(
    connection: Connection, refusals: Sequence[tuple[str, str, str]], created_at: datetime
) -> None:
    """``request.refused`` for each (organization, agent, payload), over all organizations."""
    org_ids, agent_ids, payloads = zip(*refusals, strict=True)
    await connection.execute(
        "SELECT record_refusals(%s::text[], %s::text[], %s::timestamptz[], %s::text[])",
        [list(org_ids), list(agent_ids), [created_at] * len(refusals), list(payloads)],
    )


async def seal(connection: Connection, org_id: str, limit: int, *, wait: bool) -> int:
    """Move up to ``limit`` events into the chain; returns how many. Use a transaction of its own.

    Without ``wait`` a chain that somebody else is sealing is left to them (0). With it, the transaction's
    ``lock_timeout`` bounds the wait.
    """
    cursor = await connection.execute("SELECT seal_audit_events(%s, %s, %s) AS sealed", [org_id, limit, wait])
    row = await cursor.fetchone()
    return int(row["sealed"]) if row is not None else 0


async def seal_due(connection: Connection, limit: int) -> list[Share]:
    """Seal what every organization has waiting, up to about ``limit`` events in all."""
    cursor = await connection.execute("SELECT org_id, sealed, failure FROM seal_due(%s)", [limit])
    return [Share(row["org_id"], int(row["sealed"]), row["failure"]) for row in await cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class InboxLag:
    """How far the chain is behind: events not sealed yet, and the age of the oldest."""

    events: int
    oldest_seconds: float


async def inbox_lag(connection: Connection) -> InboxLag:
    """The lag over all organizations."""
    cursor = await connection.execute("SELECT events, oldest_seconds FROM audit_inbox_lag()")
    row = await cursor.fetchone()
    return InboxLag(0, 0.0) if row is None else InboxLag(int(row["events"]), float(row["oldest_seconds"]))


async def ensure_partitions(connection: Connection) -> None:
    """Make the partitions of this month and the next."""
    await connection.execute("SELECT ensure_audit_partitions()")


async def get_event(connection: Connection, org_id: str, event_id: str) -> SealedEvent:
    """Raises NotFoundError."""
    query = sql.SQL("{} WHERE e.org_id = %s AND e.event_id = %s").format(_SELECT)
    cursor = await connection.execute(query, [org_id, event_id])
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"no audit event {event_id}")
    return _sealed(row)


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
    """Newest first. ``cursor`` continues after a page's last event, whatever was sealed since."""
    where, parameters = _conditions(org_id, wanted)
    source = sql.SQL("audit_events e WHERE {}").format(where)
    total, is_minimum = await count_rows(connection, source, parameters, exact=exact_total)
    page = sql.SQL("{} WHERE {} {} ORDER BY e.seq DESC LIMIT %(limit)s OFFSET %(offset)s").format(
        _SELECT, where, sql.SQL("" if cursor is None else "AND e.seq < %(before)s")
    )
    before = None if cursor is None else _seq_of(cursor)
    rows = await (
        await connection.execute(page, {**parameters, "before": before, "limit": limit, "offset": offset})
    ).fetchall()
    events = [_sealed(row) for row in rows]
    return EventPage(
        events=events,
        total=total,
        total_is_minimum=is_minimum,
        next_cursor=str(events[-1].seq) if len(events) == limit else None,
    )


def _conditions(org_id: str, wanted: EventFilter) -> tuple[sql.Composed, dict[str, object]]:
    parts = [sql.SQL("e.org_id = %(org)s")]
    values: dict[str, object] = {"org": org_id}
    for name, value, condition in (
        ("start", wanted.start, "e.created_at >= %(start)s"),
        ("end", wanted.end, "e.created_at <= %(end)s"),
        ("event_type", wanted.event_type, "e.event_type = %(event_type)s"),
        ("action_id", wanted.action_id, "e.action_id = %(action_id)s"),
        ("agent_id", wanted.agent_id, "e.agent_id = %(agent_id)s"),
        (
            "risk_level",
            wanted.risk_level,
            "EXISTS (SELECT FROM actions a WHERE a.org_id = e.org_id AND a.action_id = e.action_id"
            " AND a.risk_level = %(risk_level)s)",
        ),
    ):
        if value is not None:
            parts.append(sql.SQL(condition))
            values[name] = value
    return sql.SQL(" AND ").join(parts), values


def _seq_of(cursor: str) -> int:
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise ValidationError("not a cursor of this list", details={"field": "cursor"})
    return int(cursor)


def _sealed(row: DictRow) -> SealedEvent:
    actor, data = None, {}
    if row["payload"] is not None:
        payload = json.loads(row["payload"])
        actor = Actor(
            type=ActorType(payload["actor"]["type"]),
            id=payload["actor"]["id"],
            name=payload["actor"].get("name"),
        )
        data = payload["data"]
    return SealedEvent(
        event_id=row["event_id"],
        seq=row["seq"],
        event_type=row["event_type"],
        action_id=row["action_id"],
        agent_id=row["agent_id"],
        created_at=row["created_at"],
        sealed_at=row["sealed_at"],
        actor=actor,
        data=data,
        hash=bytes(row["hash"]),
        prev_hash=prev_hash_of(row["header"]),
    )
