"""Factors of people whose tokens Headgate issues; their secrets are in the vault. Transactions are the caller's."""

from datetime import datetime

from msgspec import Struct

from headgate.db.database import Connection


class Factor(Struct, frozen=True):
    """``last_step``: the step whose code was used last."""

    is_active: bool
    last_step: int | None
    created_at: datetime
    activated_at: datetime | None


async def lock_factors(connection: Connection, org_id: str, user_id: str) -> list[Factor]:
    """As ``find_factors``; of two changes at once, one follows the other, also where there is no row yet."""
    await connection.execute("SELECT FROM users WHERE org_id = %s AND user_id = %s FOR UPDATE", [org_id, user_id])
    return await find_factors(connection, org_id, user_id)


async def find_factors(connection: Connection, org_id: str, user_id: str) -> list[Factor]:
    """The active one first; at most one of each status."""
    cursor = await connection.execute(
        "SELECT status, last_step, created_at, activated_at FROM mfa_factors WHERE org_id = %s AND user_id = %s"
        " ORDER BY status",
        [org_id, user_id],
    )
    return [
        Factor(row["status"] == "active", row["last_step"], row["created_at"], row["activated_at"])
        for row in await cursor.fetchall()
    ]


async def put_pending(connection: Connection, org_id: str, user_id: str, at: datetime) -> None:
    """In place of one that was begun and not finished."""
    await connection.execute(
        "INSERT INTO mfa_factors (org_id, user_id, status, created_at) VALUES (%s, %s, 'pending', %s)"
        " ON CONFLICT (org_id, user_id, status) DO UPDATE SET created_at = excluded.created_at, last_step = NULL",
        [org_id, user_id, at],
    )


async def activate_pending(connection: Connection, org_id: str, user_id: str, step: int, at: datetime) -> None:
    """In place of the one that was active."""
    await connection.execute(
        "DELETE FROM mfa_factors WHERE org_id = %s AND user_id = %s AND status = 'active'", [org_id, user_id]
    )
    await connection.execute(
        "UPDATE mfa_factors SET status = 'active', last_step = %s, activated_at = %s"
        " WHERE org_id = %s AND user_id = %s AND status = 'pending'",
        [step, at, org_id, user_id],
    )


async def use_step(connection: Connection, org_id: str, user_id: str, step: int) -> bool:
    """Of any number at once, one: a step is used once (RFC 6238, section 5.2)."""
    cursor = await connection.execute(
        "UPDATE mfa_factors SET last_step = %s WHERE org_id = %s AND user_id = %s AND status = 'active'"
        " AND (last_step IS NULL OR last_step < %s)",
        [step, org_id, user_id, step],
    )
    return cursor.rowcount == 1


async def delete_factors(connection: Connection, org_id: str, user_id: str) -> int:
    """How many active ones that were; what was begun and not finished goes too."""
    cursor = await connection.execute(
        "DELETE FROM mfa_factors WHERE org_id = %s AND user_id = %s RETURNING status", [org_id, user_id]
    )
    return sum(row["status"] == "active" for row in await cursor.fetchall())
