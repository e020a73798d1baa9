"""What a proof pack is made of, read from the database."""

from collections.abc import Collection
from typing import Final

from msgspec import Struct
from psycopg.rows import tuple_row

from headgate.db.database import Connection
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import NotFoundError
from headgate.retention.model import BodyState

_MOST_RETRIES: Final = 100

_COLUMNS: Final = "c.seq, c.header, e.salt, e.payload"
_FROM: Final = "audit_events e JOIN audit_chain c ON c.org_id = e.org_id AND c.seq = e.seq"

# The same call again and again while it waits says nothing new: the first of these events stand for all.
_ACTION_EVENTS: Final = f"""
    SELECT {_COLUMNS} FROM {_FROM}
    WHERE e.org_id = %(org)s AND e.action_id = %(action)s
      AND (e.event_type <> 'action.retried' OR e.seq IN (
           SELECT r.seq FROM audit_events r WHERE r.org_id = %(org)s AND r.action_id = %(action)s
           AND r.event_type = 'action.retried' ORDER BY r.seq LIMIT {_MOST_RETRIES}))
    ORDER BY e.seq
"""  # noqa: S608 - constants of this file

_POLICY_EVENTS: Final = f"""
    SELECT {_COLUMNS} FROM {_FROM}
    WHERE e.org_id = %s AND e.event_type IN ('policy.created', 'policy.updated', 'policy.restored')
      AND EXISTS (SELECT FROM unnest(%s::text[]) w(id) WHERE position('"policy_id":"' || w.id || '"' IN e.payload) > 0)
    ORDER BY e.seq
"""  # noqa: S608 - constants of this file

_DROP_EVENT: Final = f"""
    SELECT {_COLUMNS} FROM {_FROM}
    WHERE e.org_id = %(org)s AND e.event_type = 'body.dropped' AND e.payload::json #>> '{{data,kind}}' = 'bodies'
      AND (e.payload::json #>> '{{data,first_action_id}}') COLLATE "C" <= %(action)s
      AND (e.payload::json #>> '{{data,last_action_id}}') COLLATE "C" >= %(action)s
    ORDER BY e.seq LIMIT 1
"""  # noqa: S608 - constants of this file


class SealedRow(Struct, frozen=True):
    """An event as a pack carries it: its exact texts."""

    seq: int
    header: str
    salt: bytes | None
    payload: str | None


async def action_events(connection: Connection, org_id: str, action_id: str) -> list[SealedRow]:
    """By ``seq``."""
    return await _rows(connection, _ACTION_EVENTS, {"org": org_id, "action": action_id})


async def policy_events(
    connection: Connection, org_id: str, wanted: Collection[tuple[str, int]]
) -> dict[tuple[str, int], SealedRow]:
    """What made these versions of policies, as far as the record has it: (id, version) to the event."""
    found: dict[tuple[str, int], SealedRow] = {}
    if not wanted:
        return found
    for row in await _rows(connection, _POLICY_EVENTS, [org_id, sorted({one for one, _ in wanted})]):
        document = parse_strict((row.payload or "{}").encode())
        data = document.get("data") if isinstance(document, dict) else None
        if isinstance(data, dict):
            policy_id, version = data.get("policy_id"), data.get("version")
            if isinstance(policy_id, str) and isinstance(version, int) and (policy_id, version) in wanted:
                found[policy_id, version] = row
    return found


async def stored_request(connection: Connection, org_id: str, action_id: str) -> tuple[BodyState, str]:
    """Where the masked request is, and its exact text where that is the action's row. Raises NotFoundError."""
    cursor = await connection.execute(
        "SELECT body_state, request FROM actions WHERE org_id = %s AND action_id = %s", [org_id, action_id]
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"no action {action_id}")
    return BodyState(row["body_state"]), str(row["request"])


async def drop_event(connection: Connection, org_id: str, action_id: str) -> SealedRow | None:
    """What says that the action's bodies were dropped by policy."""
    rows = await _rows(connection, _DROP_EVENT, {"org": org_id, "action": action_id})
    return rows[0] if rows else None


async def policy_texts(
    connection: Connection, org_id: str, wanted: Collection[tuple[str, int]]
) -> dict[tuple[str, int], str]:
    """The Rego of these versions."""
    cursor = await connection.execute(
        "SELECT v.policy_id, v.version, v.rego_policy FROM policy_versions v"
        " JOIN unnest(%s::text[], %s::integer[]) AS w(policy_id, version)"
        " ON v.policy_id = w.policy_id AND v.version = w.version WHERE v.org_id = %s",
        [[one for one, _ in wanted], [version for _, version in wanted], org_id],
    )
    return {(row["policy_id"], row["version"]): row["rego_policy"] for row in await cursor.fetchall()}


async def actions_between(
    connection: Connection, org_id: str, first_action_id: str, last_action_id: str, after: str, limit: int
) -> list[str]:
    """Identifiers of actions, in the order of their making (they begin with the time)."""
    cursor = await connection.execute(
        "SELECT action_id FROM actions WHERE org_id = %s AND action_id >= %s AND action_id < %s AND action_id > %s"
        " ORDER BY action_id LIMIT %s",
        [org_id, first_action_id, last_action_id, after, limit],
    )
    return [row["action_id"] for row in await cursor.fetchall()]


async def _rows(connection: Connection, query: str, values: list[object] | dict[str, object]) -> list[SealedRow]:
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute(query.encode(), values)
        return [SealedRow(*row) async for row in cursor]
