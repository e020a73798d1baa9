"""How many deliveries of an organization have not arrived yet, by the kind of their target."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.db.database import Connection

COUNTED_MAX: Final = 10_000

# By deliveries_not_delivered: the index ends with the identifiers, whose order is that of their making.
_PENDING: Final = """
    SELECT k.kind, (SELECT count(*) FROM (
               SELECT FROM deliveries d WHERE d.org_id = %(org)s AND d.target_kind = k.kind AND d.status = 'pending'
               LIMIT %(most)s) pending) AS deliveries,
           (SELECT d.created_at FROM deliveries d WHERE d.org_id = %(org)s AND d.target_kind = k.kind
            AND d.status = 'pending' ORDER BY d.delivery_id LIMIT 1) AS oldest_at
    FROM unnest(ARRAY['webhook', 'channel', 'integration']) AS k(kind)
"""

_WATCHED_MAX: Final = 200
_STATE: Final = """
    SELECT newest.delivery_id AS newest, pending.delivery_id, pending.attempts, pending.next_attempt_at
    FROM (SELECT max(delivery_id) AS delivery_id FROM deliveries WHERE org_id = %(org)s) newest
    LEFT JOIN (SELECT d.* FROM unnest(ARRAY['webhook', 'channel', 'integration']) AS k(kind) CROSS JOIN LATERAL (
                   SELECT delivery_id, attempts, next_attempt_at FROM deliveries
                   WHERE org_id = %(org)s AND target_kind = k.kind AND status = 'pending'
                   ORDER BY delivery_id LIMIT %(most)s) d) pending ON true
    ORDER BY pending.delivery_id
"""


class PendingDeliveries(Struct, frozen=True):
    """``deliveries``: up to 10,000 are counted. ``oldest_at``: when the oldest was made; None: there is none."""

    deliveries: int
    oldest_at: datetime | None


async def delivery_state(connection: Connection, org_id: str) -> object:
    """Changes with each new delivery, each attempt and each end of one that was pending at the look before."""
    cursor = await connection.execute(_STATE, {"org": org_id, "most": _WATCHED_MAX}, prepare=False)
    return await cursor.fetchall()


async def pending_deliveries(connection: Connection, org_id: str) -> Mapping[str, PendingDeliveries]:
    """By kind: webhook, channel and integration, each of them always."""
    cursor = await connection.execute(_PENDING, {"org": org_id, "most": COUNTED_MAX}, prepare=False)
    return {row["kind"]: PendingDeliveries(row["deliveries"], row["oldest_at"]) for row in await cursor.fetchall()}
