"""All SQL of deliveries and their attempts. Every function runs inside a transaction of the organization."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.db.bounded_count import Shown, count_list
from headgate.db.database import Connection
from headgate.deliveries.model import INTERRUPTED, Attempt, Delivery, DeliveryStatus, SendResult, TargetKind
from headgate.kernel.errors import ConflictError, NotFoundError

FORGOTTEN: Final = "{}"
"""Replaces an erased payload (``schema/functions/retention/forget_bodies.sql``)."""

_COLUMNS = (
    "org_id, delivery_id, target_kind, target_id, event_id, event, subject_id, payload, status, attempts, created_at,"
    " give_up_at, next_attempt_at, finished_at, reference, told_in"
)


class DeliveryFilter(Struct, frozen=True):
    """None means any."""

    target_kind: TargetKind
    target_id: str | None = None
    status: DeliveryStatus | None = None
    event: str | None = None
    subject_id: str | None = None


class DeliveryPage(Struct, frozen=True):
    deliveries: Sequence[Delivery]
    total: int
    total_is_minimum: bool


async def insert_delivery(connection: Connection, delivery: Delivery) -> bool:
    """False where this event was told to this target already."""
    inserted = await connection.execute(
        "INSERT INTO deliveries (org_id, delivery_id, target_kind, target_id, event_id, event, subject_id, payload,"
        " status, created_at, give_up_at, next_attempt_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (org_id, target_kind, target_id, event_id) WHERE event_id IS NOT NULL DO NOTHING",
        [
            delivery.org_id,
            delivery.delivery_id,
            delivery.target_kind.value,
            delivery.target_id,
            delivery.event_id,
            delivery.event,
            delivery.subject_id,
            delivery.payload,
            delivery.status.value,
            delivery.created_at,
            delivery.give_up_at,
            delivery.next_attempt_at,
        ],
    )
    return inserted.rowcount == 1


async def get_delivery(
    connection: Connection, org_id: str, kind: TargetKind, delivery_id: str, *, lock: bool = False
) -> Delivery:
    """Raises NotFoundError."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM deliveries WHERE org_id = %s AND delivery_id = %s AND target_kind = %s"  # noqa: S608 - constants of this file
        + (" FOR UPDATE" if lock else ""),
        [org_id, delivery_id, kind.value],
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"there is no delivery {delivery_id}")
    return _delivery(row)


async def list_deliveries(
    connection: Connection, org_id: str, wanted: DeliveryFilter, *, limit: int, offset: int, exact_total: bool = False
) -> DeliveryPage:
    """Newest first. Planned for these very values: a plan for any would miss the index of those that did not arrive."""
    parts: list[sql.Composable] = [sql.SQL("d.org_id = %(org)s AND d.target_kind = %(kind)s")]
    values: dict[str, object] = {"org": org_id, "kind": wanted.target_kind.value}
    for name, value in (
        ("target_id", wanted.target_id),
        ("status", wanted.status),
        ("event", wanted.event),
        ("subject_id", wanted.subject_id),
    ):
        if value is not None:
            parts.append(sql.SQL("d.{} = {}").format(sql.Identifier(name), sql.Placeholder(name)))
            values[name] = str(value)
    source = sql.SQL("deliveries d WHERE {}").format(sql.SQL(" AND ").join(parts))
    # The page is found first, by an index alone, then read: what is passed over is not.
    cursor = await connection.execute(
        sql.SQL(
            "WITH page AS MATERIALIZED (SELECT d.delivery_id FROM {} ORDER BY d.delivery_id DESC"
            " LIMIT %(limit)s OFFSET %(offset)s) SELECT {} FROM page JOIN deliveries USING (delivery_id)"
            " WHERE org_id = %(org)s ORDER BY delivery_id DESC"
        ).format(source, sql.SQL(_COLUMNS)),
        {**values, "limit": limit, "offset": offset},
        prepare=False,
    )
    found = [_delivery(row) for row in await cursor.fetchall()]
    shown = Shown(len(found), limit, offset)
    total, is_minimum = await count_list(connection, source, values, shown, exact=exact_total, prepare=False)
    return DeliveryPage(found, total, is_minimum)


async def attempts_of(connection: Connection, org_id: str, delivery_ids: Sequence[str]) -> dict[str, list[Attempt]]:
    """Every attempt of these, the first first."""
    cursor = await connection.execute(
        "SELECT delivery_id, attempt, started_at, finished_at, succeeded, status_code, failure, message, excerpt,"
        " latency_ms FROM delivery_attempts WHERE org_id = %s AND delivery_id = ANY (%s) ORDER BY delivery_id, attempt",
        [org_id, list(delivery_ids)],
    )
    found: dict[str, list[Attempt]] = {}
    for row in await cursor.fetchall():
        found.setdefault(row.pop("delivery_id"), []).append(Attempt(**row))
    return found


async def begin_attempt(connection: Connection, delivery: Delivery, at: datetime) -> int:
    """Written before anything is sent; what an earlier worker did not finish is marked as interrupted."""
    await connection.execute(
        "UPDATE delivery_attempts SET finished_at = %s, succeeded = false, failure = %s"
        " WHERE org_id = %s AND delivery_id = %s AND finished_at IS NULL",
        [at, INTERRUPTED, delivery.org_id, delivery.delivery_id],
    )
    number = delivery.attempts + 1
    await connection.execute(
        "UPDATE deliveries SET attempts = %s, next_attempt_at = NULL WHERE org_id = %s AND delivery_id = %s",
        [number, delivery.org_id, delivery.delivery_id],
    )
    await connection.execute(
        "INSERT INTO delivery_attempts (org_id, delivery_id, attempt, started_at) VALUES (%s, %s, %s, %s)",
        [delivery.org_id, delivery.delivery_id, number, at],
    )
    return number


async def finish_attempt(
    connection: Connection, delivery: Delivery, attempt: int, result: SendResult, at: datetime
) -> None:
    await connection.execute(
        "UPDATE delivery_attempts SET finished_at = %s, succeeded = %s, status_code = %s, failure = %s, message = %s,"
        " excerpt = %s, latency_ms = %s WHERE org_id = %s AND delivery_id = %s AND attempt = %s",
        [
            at,
            result.succeeded,
            result.status_code,
            result.failure,
            result.message,
            result.excerpt,
            result.latency_ms,
            delivery.org_id,
            delivery.delivery_id,
            attempt,
        ],
    )


async def end_delivery(
    connection: Connection, delivery: Delivery, status: DeliveryStatus, at: datetime, reference: str | None = None
) -> None:
    """From pending only: one that was cancelled meanwhile stays so."""
    await connection.execute(
        "UPDATE deliveries SET status = %s, finished_at = %s, next_attempt_at = NULL,"
        " reference = coalesce(%s, reference) WHERE org_id = %s AND delivery_id = %s AND status = 'pending'",
        [status.value, at, reference, delivery.org_id, delivery.delivery_id],
    )


async def plan_attempt(connection: Connection, delivery: Delivery, at: datetime) -> None:
    await connection.execute(
        "UPDATE deliveries SET next_attempt_at = %s WHERE org_id = %s AND delivery_id = %s",
        [at, delivery.org_id, delivery.delivery_id],
    )


async def reopen(connection: Connection, delivery: Delivery, now: datetime, give_up_at: datetime) -> None:
    """Pending once more, with new time; what was attempted stays on record. Raises ConflictError where its content was
    forgotten with the action that it told of."""
    if delivery.payload == FORGOTTEN:
        raise ConflictError(
            f"The content of {delivery.delivery_id} was erased or has expired. It cannot be sent again."
        )
    await connection.execute(
        "UPDATE deliveries SET status = 'pending', finished_at = NULL, give_up_at = %s, next_attempt_at = %s,"
        " told_in = NULL WHERE org_id = %s AND delivery_id = %s",
        [give_up_at, now, delivery.org_id, delivery.delivery_id],
    )


async def cancel_pending(
    connection: Connection, org_id: str, kind: TargetKind, target_id: str, at: datetime, *, but: str | None = None
) -> int:
    """The target is gone: nothing more is sent to it. ``but``: one that somebody else ends. Returns how many."""
    cancelled = await connection.execute(
        "UPDATE deliveries SET status = 'cancelled', finished_at = %s, next_attempt_at = NULL"
        " WHERE org_id = %s AND target_kind = %s AND target_id = %s AND status IN ('pending', 'collected')"
        " AND delivery_id IS DISTINCT FROM %s",
        [at, org_id, kind.value, target_id, but],
    )
    return cancelled.rowcount


def _delivery(row: DictRow) -> Delivery:
    return Delivery(
        **{
            **row,
            "target_kind": TargetKind(row["target_kind"]),
            "status": DeliveryStatus(row["status"]),
        }
    )
