"""Captured exchanges in the database: list, read, erase. Every function runs inside the organization's transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.db.bounded_count import Shown, count_list
from headgate.db.database import Connection
from headgate.kernel.errors import ConflictError, NotFoundError
from headgate.retention.hold_store import keep_holds_still
from headgate.traffic.model import CaptureLevel, Kept

_HEADS: Final = sql.SQL(
    "SELECT org_id, exchange_id, created_at, agent_id, action_id, tool, operation, decision, level, method, scheme,"
    " host, port, target, status, duration_ms, request_bytes, response_bytes, masking, omitted, error, erased_at,"
    " note, tags,"
)
_WITH_CONTENT: Final = sql.SQL(" key_id, wrapped_key, content FROM traffic_exchanges")
_WITHOUT_CONTENT: Final = sql.SQL(
    " NULL AS key_id, NULL::bytea AS wrapped_key, NULL::bytea AS content FROM traffic_exchanges"
)

# As the index traffic_noted says it.
_TAGGED: Final = sql.SQL("(note IS NOT NULL OR tags <> '{}') AND tags @> ARRAY[%(tag)s::text]")
_NOTED: Final = sql.SQL("(note IS NOT NULL OR tags <> '{}') AND strpos(lower(note), lower(%(note)s)) > 0")


class TrafficFilter(Struct, frozen=True):
    """What to list; None means any. ``note``: words that its note has, in any letter case. ``start`` and ``end`` bound
    ``created_at``, both inclusive."""

    agent_id: str | None = None
    action_id: str | None = None
    tool: str | None = None
    operation: str | None = None
    host: str | None = None
    method: str | None = None
    status: int | None = None
    decision: str | None = None
    tag: str | None = None
    note: str | None = None
    start: datetime | None = None
    end: datetime | None = None


class TrafficPage(Struct, frozen=True):
    """Newest first, in the order in which the exchanges ended, without contents."""

    exchanges: Sequence[Kept]
    total: int
    total_is_minimum: bool
    next_cursor: str | None


class LossCount(Struct, frozen=True):
    """How many were not captured for one cause."""

    cause: str
    exchanges: int
    since: datetime
    until: datetime


async def list_exchanges(
    connection: Connection,
    org_id: str,
    wanted: TrafficFilter,
    *,
    limit: int,
    offset: int = 0,
    cursor: str | None = None,
    exact_total: bool = False,
) -> TrafficPage:
    """``cursor``: the last exchange of the page before."""
    where, values = _conditions(org_id, wanted)
    source = sql.SQL("traffic_exchanges WHERE {}").format(where)
    found = await _select(connection, _WITHOUT_CONTENT, where, values, limit=limit, offset=offset, cursor=cursor)
    shown = Shown(len(found), limit, offset, cursor)
    total, is_minimum = await count_list(connection, source, values, shown, exact=exact_total, prepare=False)
    return TrafficPage(found, total, is_minimum, found[-1].exchange_id if len(found) == limit else None)


async def exchanges_with_content(
    connection: Connection, org_id: str, wanted: TrafficFilter, *, limit: int, cursor: str | None = None
) -> list[Kept]:
    """Newest first, erased ones left out: there is nothing in them."""
    where, values = _conditions(org_id, wanted)
    where = sql.SQL("{} AND erased_at IS NULL").format(where)
    return await _select(connection, _WITH_CONTENT, where, values, limit=limit, offset=0, cursor=cursor)


async def get_exchange(connection: Connection, org_id: str, exchange_id: str) -> Kept:
    """With its content. Raises NotFoundError."""
    query = sql.SQL("{}{} WHERE org_id = %s AND exchange_id = %s").format(_HEADS, _WITH_CONTENT)
    row = await (await connection.execute(query, [org_id, exchange_id])).fetchone()
    if row is None:
        raise NotFoundError(f"there is no captured exchange {exchange_id}")
    return _kept(row)


async def erase_exchange(connection: Connection, org_id: str, exchange_id: str, at: datetime) -> bool:
    """Take its key and all text of it away; that it was there stays. False: it was erased before.

    Raises NotFoundError, ConflictError (a legal hold).
    """
    await keep_holds_still(connection, org_id)
    erased = await connection.execute(
        "UPDATE traffic_exchanges SET key_id = NULL, wrapped_key = NULL, content = NULL, target = NULL, error = NULL,"
        " note = NULL, tags = '{}', erased_at = %s WHERE org_id = %s AND exchange_id = %s AND erased_at IS NULL"
        " AND NOT under_hold(org_id, action_id, agent_id)",
        [at, org_id, exchange_id],
    )
    if erased.rowcount == 0 and (await get_exchange(connection, org_id, exchange_id)).erased_at is None:
        raise ConflictError(f"{exchange_id} is under a legal hold: lift the hold before you erase it")
    return erased.rowcount == 1


async def annotate_exchange(
    connection: Connection, org_id: str, exchange_id: str, note: str | None, tags: Sequence[str]
) -> Kept:
    """In place of the note and the tags before. Raises NotFoundError, ConflictError (erased)."""
    changed = await connection.execute(
        "UPDATE traffic_exchanges SET note = %s, tags = %s"
        " WHERE org_id = %s AND exchange_id = %s AND erased_at IS NULL",
        [note, list(tags), org_id, exchange_id],
    )
    found = await get_exchange(connection, org_id, exchange_id)
    if changed.rowcount == 0:
        raise ConflictError(f"{exchange_id} was erased: it can no longer have a note")
    return found


async def count_losses(
    connection: Connection, org_id: str, *, start: datetime | None, end: datetime | None
) -> list[LossCount]:
    """What was not captured in a range of time, by cause."""
    cursor = await connection.execute(
        "SELECT cause, sum(exchanges)::bigint AS exchanges, min(since) AS since, max(until) AS until"
        " FROM traffic_losses WHERE org_id = %s AND until >= coalesce(%s::timestamptz, '-infinity')"
        " AND since <= coalesce(%s::timestamptz, 'infinity') GROUP BY cause ORDER BY cause",
        [org_id, start, end],
    )
    return [LossCount(row["cause"], row["exchanges"], row["since"], row["until"]) async for row in cursor]


async def _select(
    connection: Connection,
    columns: sql.SQL,
    where: sql.Composed,
    values: dict[str, object],
    *,
    limit: int,
    offset: int,
    cursor: str | None,
) -> list[Kept]:
    after = sql.SQL("" if cursor is None else "AND exchange_id < %(before)s")
    query = sql.SQL("{}{} WHERE {} {} ORDER BY exchange_id DESC LIMIT %(limit)s OFFSET %(offset)s").format(
        _HEADS, columns, where, after
    )
    found = await connection.execute(
        query, {**values, "before": cursor, "limit": limit, "offset": offset}, prepare=False
    )
    return [_kept(row) for row in await found.fetchall()]


def _conditions(org_id: str, wanted: TrafficFilter) -> tuple[sql.Composed, dict[str, object]]:
    parts: list[sql.Composable] = [sql.SQL("org_id = %(org)s")]
    values: dict[str, object] = {"org": org_id}
    for name in ("agent_id", "action_id", "tool", "operation", "host", "method", "status", "decision"):
        value = getattr(wanted, name)
        if value is not None:
            parts.append(sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name)))
            values[name] = value
    for name, noted in (("tag", _TAGGED), ("note", _NOTED)):
        if (written := getattr(wanted, name)) is not None:
            parts.append(noted)
            values[name] = written
    for name, condition in (("start", "created_at >= %(start)s"), ("end", "created_at <= %(end)s")):
        if (bound := getattr(wanted, name)) is not None:
            parts.append(sql.SQL(condition))
            values[name] = bound
    return sql.SQL(" AND ").join(parts), values


def _kept(row: DictRow) -> Kept:
    content = {name: None if row[name] is None else bytes(row[name]) for name in ("wrapped_key", "content")}
    return Kept(**{**row, "level": CaptureLevel(row["level"]), **content})
