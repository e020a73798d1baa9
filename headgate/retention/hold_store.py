"""All SQL of legal holds. Every function runs inside the caller's transaction of the organization."""

from datetime import datetime
from typing import Final

from psycopg.rows import DictRow

from headgate.db.database import Connection
from headgate.retention.model import HoldScope, LegalHold

_COLUMNS: Final = "hold_id, scope, target, reason, placed_by, placed_at, lifted_by, lifted_at, lift_reason"


async def wait_for_forgetting(connection: Connection, org_id: str) -> None:
    """Until nothing is being forgotten, and nothing will be until this transaction ends."""
    await connection.execute("SELECT pg_advisory_xact_lock(hold_lock(%s))", [org_id])


async def keep_holds_still(connection: Connection, org_id: str) -> None:
    """No hold is placed until this transaction ends: what it forgets was not held."""
    await connection.execute("SELECT pg_advisory_xact_lock_shared(hold_lock(%s))", [org_id])


async def insert_hold(connection: Connection, org_id: str, hold: LegalHold) -> None:
    await connection.execute(
        "INSERT INTO legal_holds (org_id, hold_id, scope, target, reason, placed_by, placed_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        [org_id, hold.hold_id, hold.scope.value, hold.target, hold.reason, hold.placed_by, hold.placed_at],
    )


async def save_lift(connection: Connection, org_id: str, hold_id: str, by: str, at: datetime, reason: str) -> bool:
    """False where it was lifted already."""
    cursor = await connection.execute(
        "UPDATE legal_holds SET lifted_by = %s, lifted_at = %s, lift_reason = %s"
        " WHERE org_id = %s AND hold_id = %s AND lifted_at IS NULL",
        [by, at, reason, org_id, hold_id],
    )
    return cursor.rowcount == 1


async def find_hold(connection: Connection, org_id: str, hold_id: str) -> LegalHold | None:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM legal_holds WHERE org_id = %s AND hold_id = %s",  # noqa: S608 - a constant of this file
        [org_id, hold_id],
    )
    row = await cursor.fetchone()
    return None if row is None else _hold(row)


async def list_holds(connection: Connection, org_id: str, *, in_force: bool) -> list[LegalHold]:
    """The newest first."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM legal_holds WHERE org_id = %s AND (NOT %s OR lifted_at IS NULL)"  # noqa: S608 - a constant of this file
        " ORDER BY hold_id DESC LIMIT 1000",
        [org_id, in_force],
    )
    return [_hold(row) for row in await cursor.fetchall()]


async def holds_everything(connection: Connection, org_id: str) -> bool:
    """Whether a hold covers the whole organization: then there is nothing to look for."""
    cursor = await connection.execute(
        "SELECT EXISTS (SELECT FROM legal_holds WHERE org_id = %s AND scope = 'organization' AND lifted_at IS NULL)"
        " AS held",
        [org_id],
    )
    row = await cursor.fetchone()
    return row is None or bool(row["held"])


def _hold(row: DictRow) -> LegalHold:
    return LegalHold(
        row["hold_id"],
        HoldScope(row["scope"]),
        row["target"],
        row["reason"],
        row["placed_by"],
        row["placed_at"],
        row["lifted_by"],
        row["lifted_at"],
        row["lift_reason"],
    )
