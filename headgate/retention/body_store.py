"""All SQL of bodies. Every function runs inside the caller's transaction of the organization."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from headgate.db.database import Connection
from headgate.retention.bodies import ACTION_KIND, ActionBodies
from headgate.retention.model import BodyState
from headgate.vault.envelope import Envelope


class Standing(Struct, frozen=True):
    """What speaks for and against forgetting an action's bodies."""

    agent_id: str
    state: BodyState
    held: bool
    resting: bool


async def action_exists(connection: Connection, org_id: str, action_id: str) -> bool:
    cursor = await connection.execute(
        "SELECT 1 AS one FROM actions WHERE org_id = %s AND action_id = %s", [org_id, action_id]
    )
    return await cursor.fetchone() is not None


async def lock_clear_bodies(
    connection: Connection, org_id: str, action_ids: Sequence[str]
) -> Mapping[str, ActionBodies]:
    """Those of these actions that are at rest, with what stands in their rows, which nobody changes until the end of
    the transaction."""
    cursor = await connection.execute(
        "SELECT a.action_id, a.request, p.edited_request FROM actions a"
        " LEFT JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id"
        " WHERE a.org_id = %s AND a.action_id = ANY (%s) AND a.body_state = 'clear'"
        " AND at_rest(a.org_id, a.action_id, a.status, a.approval_id) ORDER BY a.action_id FOR UPDATE OF a",
        [org_id, list(action_ids)],
    )
    rows = await cursor.fetchall()
    results: dict[str, dict[str, str]] = {row["action_id"]: {} for row in rows}
    cursor = await connection.execute(
        "SELECT action_id, execution_id, result FROM executions"
        " WHERE org_id = %s AND action_id = ANY (%s) AND result IS NOT NULL",
        [org_id, list(results)],
    )
    for row in await cursor.fetchall():
        results[row["action_id"]][row["execution_id"]] = row["result"]
    return {
        row["action_id"]: ActionBodies(row["request"], results[row["action_id"]], row["edited_request"]) for row in rows
    }


async def put_away(connection: Connection, org_id: str, envelopes: Mapping[str, Envelope]) -> int:
    """In place of what stood in the rows; by action. How many were moved."""
    cursor = await connection.execute(
        "SELECT put_bodies_away(%s, %s::text[], %s::text[], %s::bytea[], %s::bytea[]) AS moved",
        [
            org_id,
            list(envelopes),
            [one.key_id for one in envelopes.values()],
            [one.wrapped_key for one in envelopes.values()],
            [one.ciphertext for one in envelopes.values()],
        ],
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row["moved"])


async def lock_later_results(
    connection: Connection, org_id: str, action_ids: Sequence[str]
) -> Mapping[str, Mapping[str, str]]:
    """Results that came after the bodies of these actions were put away: by action and execution; of those at rest."""
    cursor = await connection.execute(
        "SELECT a.action_id, e.execution_id, e.result FROM actions a"
        " JOIN executions e ON e.org_id = a.org_id AND e.action_id = a.action_id"
        " WHERE a.org_id = %s AND a.action_id = ANY (%s) AND a.body_state = 'kept' AND e.result IS NOT NULL"
        " AND at_rest(a.org_id, a.action_id, a.status, a.approval_id) ORDER BY a.action_id FOR UPDATE OF a",
        [org_id, list(action_ids)],
    )
    found: dict[str, dict[str, str]] = {}
    for row in await cursor.fetchall():
        found.setdefault(row["action_id"], {})[row["execution_id"]] = row["result"]
    return found


async def put_results_away(connection: Connection, org_id: str, action_id: str, envelope: Envelope) -> bool:
    """In place of what was kept of the action. False: it has been forgotten."""
    cursor = await connection.execute(
        "SELECT put_results_away(%s, %s, %s, %s, %s) AS kept",
        [org_id, action_id, envelope.key_id, envelope.wrapped_key, envelope.ciphertext],
    )
    row = await cursor.fetchone()
    return row is not None and bool(row["kept"])


async def unsettled(connection: Connection, org_id: str, action_ids: Sequence[str]) -> set[str]:
    """Those of these actions that are not at rest; all of them stay as they are until the end of the transaction."""
    cursor = await connection.execute(
        "SELECT a.action_id, at_rest(a.org_id, a.action_id, a.status, a.approval_id) AS resting FROM actions a"
        " WHERE a.org_id = %s AND a.action_id = ANY (%s) ORDER BY a.action_id FOR UPDATE",
        [org_id, list(action_ids)],
    )
    return {row["action_id"] for row in await cursor.fetchall() if not row["resting"]}


async def get_body(connection: Connection, org_id: str, action_id: str, kind: str = ACTION_KIND) -> Envelope | None:
    """None: nothing of this kind is kept of it, or its key is gone."""
    cursor = await connection.execute(
        "SELECT k.key_id, k.wrapped_key, b.ciphertext FROM body_keys k"
        " JOIN kept_bodies b ON b.org_id = k.org_id AND b.action_id = k.action_id AND b.kind = k.kind"
        " WHERE k.org_id = %s AND k.action_id = %s AND k.kind = %s",
        [org_id, action_id, kind],
    )
    row = await cursor.fetchone()
    return None if row is None else Envelope(row["key_id"], row["wrapped_key"], row["ciphertext"])


async def forget(
    connection: Connection, org_id: str, action_ids: Sequence[str], state: BodyState, *, everything: bool = False
) -> list[str]:
    """Those whose bodies were forgotten; held ones, and those not at rest, are left alone."""
    cursor = await connection.execute(
        "SELECT forget_bodies(%s, %s::text[], %s, %s) AS forgotten",
        [org_id, list(action_ids), state.value, everything],
    )
    row = await cursor.fetchone()
    return [] if row is None else sorted(row["forgotten"])


async def standing_of(connection: Connection, org_id: str, action_ids: Sequence[str]) -> dict[str, Standing]:
    """Of those that there are."""
    cursor = await connection.execute(
        "SELECT a.action_id, a.agent_id, a.body_state, under_hold(a.org_id, a.action_id, a.agent_id) AS held,"
        " at_rest(a.org_id, a.action_id, a.status, a.approval_id) AS resting"
        " FROM actions a WHERE a.org_id = %s AND a.action_id = ANY (%s)",
        [org_id, list(action_ids)],
    )
    return {
        row["action_id"]: Standing(row["agent_id"], BodyState(row["body_state"]), row["held"], row["resting"])
        for row in await cursor.fetchall()
    }


async def stale_keys(connection: Connection, org_id: str, current: str, limit: int) -> list[tuple[str, str, Envelope]]:
    """(action, kind, envelope without its ciphertext) of data keys that another master key wraps."""
    cursor = await connection.execute(
        "SELECT action_id, kind, key_id, wrapped_key FROM body_keys WHERE org_id = %s AND key_id <> %s"
        " ORDER BY action_id, kind LIMIT %s FOR UPDATE",
        [org_id, current, limit],
    )
    return [
        (row["action_id"], row["kind"], Envelope(row["key_id"], row["wrapped_key"], b""))
        for row in await cursor.fetchall()
    ]


async def save_key(connection: Connection, org_id: str, action_id: str, kind: str, envelope: Envelope) -> None:
    await connection.execute(
        "UPDATE body_keys SET key_id = %s, wrapped_key = %s WHERE org_id = %s AND action_id = %s AND kind = %s",
        [envelope.key_id, envelope.wrapped_key, org_id, action_id, kind],
    )
