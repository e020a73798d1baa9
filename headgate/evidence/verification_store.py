"""The last verification of each log that runs in the background: one row an organization."""

from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.db.database import Connection
from headgate.kernel.errors import ConflictError, NotFoundError

_ENDED_AFTER: Final = "interval '30 seconds'"
_COLUMNS: Final = (
    "run, started_by, started_at, events, verified, finished_at, result, failure,"
    f" finished_at IS NULL AND told_at < clock_timestamp() - {_ENDED_AFTER} AS is_interrupted"
)


class BackgroundVerification(Struct, frozen=True):
    """``result`` is JSON; ``failure`` says why there is none. ``is_interrupted``: its process ended before it did."""

    run: str
    started_by: str
    started_at: datetime
    events: int
    verified: int
    finished_at: datetime | None
    result: str | None
    failure: str | None
    is_interrupted: bool


async def begin_verification(connection: Connection, org_id: str, run: str, started_by: str, events: int) -> None:
    """In place of the last one. Raises ConflictError where that still runs."""
    cursor = await connection.execute(
        "INSERT INTO audit_verifications (org_id, run, started_by, started_at, told_at, events)"  # noqa: S608 - constants of this file
        " VALUES (%s, %s, %s, clock_timestamp(), clock_timestamp(), %s)"
        " ON CONFLICT (org_id) DO UPDATE SET run = excluded.run, started_by = excluded.started_by,"
        " started_at = excluded.started_at, told_at = excluded.told_at, events = excluded.events, verified = 0,"
        " finished_at = NULL, result = NULL, failure = NULL"
        " WHERE audit_verifications.finished_at IS NOT NULL"
        f" OR audit_verifications.told_at < clock_timestamp() - {_ENDED_AFTER}",
        [org_id, run, started_by, events],
    )
    if cursor.rowcount == 0:
        raise ConflictError("A verification of this log is already running. Wait until it ends.")


async def tell_progress(connection: Connection, org_id: str, run: str, verified: int) -> None:
    """Nothing where another run has taken its place."""
    await connection.execute(
        "UPDATE audit_verifications SET verified = %s, told_at = clock_timestamp()"
        " WHERE org_id = %s AND run = %s AND finished_at IS NULL",
        [verified, org_id, run],
    )


async def finish_verification(
    connection: Connection, org_id: str, run: str, verified: int, result: str | None, failure: str | None
) -> None:
    """Nothing where another run has taken its place."""
    await connection.execute(
        "UPDATE audit_verifications SET verified = %s, result = %s, failure = %s, finished_at = clock_timestamp(),"
        " told_at = clock_timestamp() WHERE org_id = %s AND run = %s",
        [verified, result, failure, org_id, run],
    )


async def last_verification(connection: Connection, org_id: str) -> BackgroundVerification:
    """Raises NotFoundError."""
    cursor = await connection.execute(f"SELECT {_COLUMNS} FROM audit_verifications WHERE org_id = %s", [org_id])  # noqa: S608 - constants of this file
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError("no verification of this log was started")
    return BackgroundVerification(**row)
