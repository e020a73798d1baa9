"""Keys that somebody should be reminded to replace, over all organizations; and noting that it was done."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from headgate.agents.rotation import REMIND_BEFORE_END, ROTATE_AFTER
from headgate.db.database import Connection


class DueKey(Struct, frozen=True):
    key_id: str
    kind: str
    agent_id: str | None
    created_at: datetime
    expires_at: datetime | None


async def keys_due(connection: Connection, now: datetime) -> dict[str, list[str]]:
    """Keys by organization: 90 days old, or soon to end."""
    cursor = await connection.execute(
        "SELECT org_id, key_id FROM key_reminders_due(%s, %s)", [now - ROTATE_AFTER, now + REMIND_BEFORE_END]
    )
    found: dict[str, list[str]] = {}
    async for row in cursor:
        found.setdefault(row["org_id"], []).append(row["key_id"])
    return found


async def note_reminded(connection: Connection, org_id: str, key_ids: Sequence[str], at: datetime) -> list[DueKey]:
    """Those that nobody else has reminded of meanwhile."""
    cursor = await connection.execute(
        "UPDATE api_keys SET reminded_at = %s WHERE org_id = %s AND key_id = ANY (%s) AND reminded_at IS NULL"
        " AND revoked_at IS NULL RETURNING key_id, kind, agent_id, created_at, expires_at",
        [at, org_id, list(key_ids)],
    )
    found = [
        DueKey(row["key_id"], row["kind"], row["agent_id"], row["created_at"], row["expires_at"])
        async for row in cursor
    ]
    return sorted(found, key=lambda key: key.key_id)
