"""Captures as one of the things that are kept: dropped by policy, erased with their action, followed by key rotation.

Captures are no part of the record, and nothing of the record names their contents: the chain does not notice. A month
of which every organization has dropped its part goes from the disk with its partition (``drop_empty_partitions``).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from headgate.db.database import Connection
from headgate.retention.retained_kind import Dropped, RetainedKind
from headgate.traffic.sealed_exchange import sealed_as
from headgate.vault.envelope import Envelope
from headgate.vault.service import Vault

_BATCH: Final = 1000
_NOTHING_LEFT: Final = (
    "key_id = NULL, wrapped_key = NULL, content = NULL, target = NULL, error = NULL, note = NULL, tags = '{}',"
    " erased_at = clock_timestamp()"
)


async def drop_captures(connection: Connection, org_id: str, before: datetime) -> Dropped:
    """Forget what was captured before that moment, losses included, but for what is under a legal hold."""
    deleted = await connection.execute(
        "DELETE FROM traffic_exchanges t USING (SELECT x.exchange_id, x.created_at FROM traffic_exchanges x"
        "  WHERE x.org_id = %(org)s AND x.created_at < %(before)s"
        "  AND NOT under_hold(%(org)s, x.action_id, x.agent_id) ORDER BY x.exchange_id LIMIT %(most)s FOR UPDATE) old"
        " WHERE t.org_id = %(org)s AND t.exchange_id = old.exchange_id AND t.created_at = old.created_at",
        {"org": org_id, "before": before, "most": _BATCH},
    )
    await connection.execute("DELETE FROM traffic_losses WHERE org_id = %s AND until < %s", [org_id, before])
    return Dropped(deleted.rowcount, more=deleted.rowcount >= _BATCH)


async def erase_captures(connection: Connection, org_id: str, action_ids: Sequence[str]) -> int:
    """The keys and all text of what was captured of these actions; how many had any."""
    erased = await connection.execute(
        f"UPDATE traffic_exchanges SET {_NOTHING_LEFT} WHERE org_id = %s AND action_id = ANY (%s)"  # noqa: S608 - a constant of this file
        " AND erased_at IS NULL AND NOT under_hold(org_id, action_id, agent_id) RETURNING action_id",
        [org_id, list(action_ids)],
    )
    return len({row["action_id"] async for row in erased})


CAPTURES: Final = RetainedKind("captures", drop_captures, erase_captures)


async def rewrap_captures(connection: Connection, org_id: str, vault: Vault) -> int:
    """Bring data keys under the current master key, a bounded number; contents stay. Raises UnavailableError."""
    cursor = await connection.execute(
        "SELECT exchange_id, created_at, key_id, wrapped_key FROM traffic_exchanges"
        " WHERE org_id = %s AND key_id <> %s LIMIT %s FOR UPDATE",
        [org_id, vault.current_key_id, _BATCH],
    )
    stale = await cursor.fetchall()
    for row in stale:
        name = sealed_as(row["exchange_id"])
        envelope = vault.rewrapped(org_id, name, Envelope(row["key_id"], row["wrapped_key"], b""))
        await connection.execute(
            "UPDATE traffic_exchanges SET key_id = %s, wrapped_key = %s"
            " WHERE org_id = %s AND exchange_id = %s AND created_at = %s",
            [envelope.key_id, envelope.wrapped_key, org_id, row["exchange_id"], row["created_at"]],
        )
    return len(stale)


async def ensure_traffic_partitions(connection: Connection) -> None:
    """Make the partitions of this month and the next; over all organizations."""
    await connection.execute("SELECT ensure_traffic_partitions()")


async def drop_empty_partitions(connection: Connection) -> int:
    """Those of months that are over and empty; how many. Over all organizations."""
    cursor = await connection.execute("SELECT drop_empty_traffic_partitions() AS dropped")
    row = await cursor.fetchone()
    return 0 if row is None else int(row["dropped"])
