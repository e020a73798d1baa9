"""Looking for keys: by agent, kind, status and age; and by what of a key has leaked."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from psycopg import sql

from headgate.agents.model import ApiKey, KeyStatus
from headgate.agents.rotation import ROTATE_AFTER
from headgate.agents.scopes import KeyKind
from headgate.agents.store import SELECT_KEYS, key_of
from headgate.db.bounded_count import Shown, count_list
from headgate.db.database import Connection

_REVOKED = "k.revoked_at IS NOT NULL"
_ENDS = "coalesce(k.expires_at, 'infinity')"
_EXPIRED = "k.revoked_at IS NULL AND k.expires_at <= %(now)s"
_ACTIVE = f"k.revoked_at IS NULL AND {_ENDS} > %(now)s"
# Follows from the other two, and finds the index.
_LONG_LIVED = "(k.expires_at IS NULL OR k.expires_at - k.created_at > interval '90 days')"
_BY_INDEX: Final = "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)"
_BY_STATUS = {
    KeyStatus.REVOKED: _REVOKED,
    KeyStatus.EXPIRED: _EXPIRED,
    KeyStatus.ACTIVE: _ACTIVE,
    KeyStatus.STOPPED: f"{_ACTIVE} AND k.kind <> 'agent' AND k.user_id = ANY (%(stopped)s)",
}
_GOES_ON = "(k.kind = 'agent' OR k.user_id IS NULL OR k.user_id <> ALL (%(stopped)s))"


class KeyFilter(Struct, frozen=True):
    """What to list; None means any. ``rotation_due``: only keys that work and are older than keys should be."""

    agent_id: str | None = None
    kind: KeyKind | None = None
    status: KeyStatus | None = None
    rotation_due: bool = False


class FoundKeys(Struct, frozen=True):
    """One page, newest first."""

    keys: Sequence[ApiKey]
    total: int
    total_is_minimum: bool
    next_cursor: str | None


async def list_keys(
    connection: Connection,
    org_id: str,
    wanted: KeyFilter,
    *,
    now: datetime,
    limit: int,
    offset: int,
    cursor: str | None,
    exact_total: bool,
) -> FoundKeys:
    """``cursor``: the id of the last key already seen. Planned for these very values: almost all keys may have ended,
    or almost none."""
    stopped = [] if wanted.status is None and not wanted.rotation_due else await _deactivated(connection, org_id)
    where, parameters = _conditions(org_id, wanted, now, stopped)
    # The page is found by an index alone, then read; the planner takes ten thousand rows for a reason to read them all.
    await connection.execute(_BY_INDEX)
    query = sql.SQL(
        "WITH page AS MATERIALIZED (SELECT k.key_id FROM api_keys k WHERE {} {} ORDER BY k.key_id DESC"
        " LIMIT %(limit)s OFFSET %(offset)s) {} JOIN page ON k.org_id = %(org)s"
        " AND k.key_id = page.key_id ORDER BY k.key_id DESC"
    ).format(where, sql.SQL("" if cursor is None else "AND k.key_id < %(before)s"), sql.SQL(SELECT_KEYS))
    rows = await connection.execute(
        query, {**parameters, "limit": limit, "offset": offset, "before": cursor}, prepare=False
    )
    keys = [key_of(row) async for row in rows]
    source = sql.SQL("(SELECT FROM api_keys k WHERE {} {}) m").format(where, sql.SQL(_counted_by(wanted)))
    shown = Shown(len(keys), limit, offset, cursor)
    total, is_minimum = await count_list(connection, source, parameters, shown, exact=exact_total, prepare=False)
    return FoundKeys(keys, total, is_minimum, keys[-1].key_id if len(keys) == limit else None)


async def keys_with_hash(connection: Connection, org_id: str, hashes: Sequence[bytes]) -> list[ApiKey]:
    """This organization's among the keys that have these hashes, locked."""
    cursor = await connection.execute(
        SELECT_KEYS + " WHERE k.org_id = %s AND k.key_hash = ANY (%s) ORDER BY k.key_id FOR UPDATE OF k",
        [org_id, list(hashes)],
    )
    return [key_of(row) async for row in cursor]


async def keys_with_display(connection: Connection, org_id: str, beginning: str) -> list[ApiKey]:
    """Keys whose first characters, as far as they are kept, are these; locked. ``beginning`` is base62."""
    cursor = await connection.execute(
        SELECT_KEYS + " WHERE k.org_id = %s AND starts_with(k.display, %s) ORDER BY k.key_id FOR UPDATE OF k",
        [org_id, beginning],
    )
    return [key_of(row) async for row in cursor]


async def keys_of_agent(connection: Connection, org_id: str, agent_id: str) -> list[ApiKey]:
    """All of an agent's keys, locked."""
    cursor = await connection.execute(
        SELECT_KEYS + " WHERE k.org_id = %s AND k.agent_id = %s ORDER BY k.key_id FOR UPDATE OF k", [org_id, agent_id]
    )
    return [key_of(row) async for row in cursor]


async def keys_of_person(connection: Connection, org_id: str, user_ids: Sequence[str], now: datetime) -> list[ApiKey]:
    """Keys that these users answer for and that would work at this moment, those that they made for agents included."""
    cursor = await connection.execute(
        SELECT_KEYS + " WHERE k.org_id = %s AND k.user_id = ANY (%s) AND k.revoked_at IS NULL"
        " AND (k.expires_at IS NULL OR k.expires_at > %s) ORDER BY k.key_id",
        [org_id, list(user_ids), now],
    )
    return [key_of(row) async for row in cursor]


async def _deactivated(connection: Connection, org_id: str) -> list[str]:
    """Few, so that a filter by them costs next to nothing."""
    cursor = await connection.execute(
        "SELECT user_id FROM users WHERE org_id = %s AND deactivated_at IS NOT NULL", [org_id]
    )
    return [row["user_id"] async for row in cursor]


def _counted_by(wanted: KeyFilter) -> str:
    """The order in which what is counted comes first: the newest have not ended, the oldest have. (Behind row-level
    security no index condition is made of coalesce: PostgreSQL does not count it among what leaks nothing.)"""
    match wanted.status:
        case KeyStatus.ACTIVE:
            return "ORDER BY k.key_id DESC"
        case KeyStatus.EXPIRED:
            return "ORDER BY k.key_id"
        case _:
            return ""


def _conditions(
    org_id: str, wanted: KeyFilter, now: datetime, stopped: Sequence[str]
) -> tuple[sql.Composed, dict[str, object]]:
    parts: list[sql.Composable] = [sql.SQL("k.org_id = %(org)s")]
    if wanted.agent_id is not None:
        parts.append(sql.SQL("k.agent_id = %(agent)s"))
    if wanted.kind is not None:
        parts.append(sql.SQL("k.kind = %(kind)s"))
    if wanted.status is not None:
        parts.append(sql.SQL(_BY_STATUS[wanted.status]))
    if wanted.rotation_due:
        parts += [sql.SQL(_ACTIVE), sql.SQL("k.created_at <= %(old)s"), sql.SQL(_LONG_LIVED)]
    if stopped and (wanted.status is KeyStatus.ACTIVE or wanted.rotation_due):
        parts.append(sql.SQL(_GOES_ON))
    values: dict[str, object] = {
        "stopped": list(stopped),
        "org": org_id,
        "agent": wanted.agent_id,
        "kind": wanted.kind,
        "now": now,
        "old": now - ROTATE_AFTER,
    }
    return sql.SQL(" AND ").join(parts), values
