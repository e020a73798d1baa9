"""All SQL of notifications except deliveries. Every function runs inside a transaction of the organization."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from headgate.db.database import Connection
from headgate.deliveries.model import TargetKind


class Earlier(Struct, frozen=True):
    """A message to a channel about an approval; ``reference``: the platform's id of the message."""

    delivery_id: str
    target_id: str
    reference: str | None
    payload: str


async def lock_settings(connection: Connection, org_id: str) -> None:
    """Serializes changes of one organization's settings. It leaves the generation: no decision depends on
    notifications."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('headgate.notifications ' || %s, 0))", [org_id]
    )


async def replace_connections(connection: Connection, org_id: str, channels: Mapping[str, str]) -> None:
    """``channels``: the owning channel, by connection."""
    await connection.execute(
        "DELETE FROM chat_connections WHERE org_id = %s AND NOT connection_id = ANY (%s)", [org_id, list(channels)]
    )
    await connection.execute(
        "INSERT INTO chat_connections (org_id, connection_id, channel)"
        " SELECT %s, c.id, c.channel FROM unnest(%s::text[], %s::text[]) AS c(id, channel) ON CONFLICT DO NOTHING",
        [org_id, list(channels.keys()), list(channels.values())],
    )


async def connection_owner(connection: Connection, connection_id: str) -> tuple[str, str] | None:
    """Organization and channel of a connection; reads across organizations."""
    cursor = await connection.execute("SELECT org_id, channel FROM chat_connection_owner(%s)", [connection_id])
    row = await cursor.fetchone()
    return None if row is None else (row["org_id"], row["channel"])


async def single_messages_since(connection: Connection, org_id: str, channel: str, since: datetime) -> int:
    """The number of single messages that the channel received."""
    cursor = await connection.execute(
        "SELECT count(*) AS number FROM deliveries WHERE org_id = %s AND target_kind = %s AND target_id = %s"
        " AND created_at > %s AND status <> 'collected' AND told_in IS NULL",
        [org_id, TargetKind.CHANNEL.value, channel, since],
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row["number"])


async def collect_into(connection: Connection, org_id: str, channel: str, digest_id: str, most: int) -> Sequence[str]:
    """Claims the payloads that wait for this digest of the channel."""
    cursor = await connection.execute(
        "WITH waiting AS (SELECT delivery_id FROM deliveries WHERE org_id = %(org)s AND target_id = %(channel)s"
        " AND status = 'collected' AND told_in IS NULL ORDER BY delivery_id LIMIT %(most)s FOR UPDATE SKIP LOCKED)"
        " UPDATE deliveries d SET told_in = %(digest)s FROM waiting w WHERE d.org_id = %(org)s"
        " AND d.delivery_id = w.delivery_id RETURNING d.delivery_id, d.payload",
        {"org": org_id, "channel": channel, "digest": digest_id, "most": most},
    )
    rows = await cursor.fetchall()
    return [row["payload"] for row in sorted(rows, key=lambda row: str(row["delivery_id"]))]


async def end_collected(connection: Connection, org_id: str, digest_id: str, status: str, at: datetime) -> None:
    """Gives the deliveries in a digest the digest's outcome."""
    await connection.execute(
        "UPDATE deliveries SET status = %s, finished_at = %s WHERE org_id = %s AND told_in = %s"
        " AND status = 'collected'",
        [status, at, org_id, digest_id],
    )


async def earlier_messages(connection: Connection, org_id: str, approval_id: str) -> Sequence[Earlier]:
    """The messages that requested a decision on this approval, one per channel."""
    cursor = await connection.execute(
        "SELECT DISTINCT ON (target_id) delivery_id, target_id, reference, payload FROM deliveries"
        " WHERE org_id = %s AND subject_id = %s AND target_kind = %s AND event = 'approval.requested'"
        " ORDER BY target_id, delivery_id",
        [org_id, approval_id, TargetKind.CHANNEL.value],
    )
    return [Earlier(**row) for row in await cursor.fetchall()]
