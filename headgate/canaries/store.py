"""Canary tokens in the database."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from psycopg.rows import DictRow

from headgate.canaries.model import Canary
from headgate.db.database import Connection
from headgate.kernel.errors import NotFoundError

_SELECT: Final = (
    "SELECT org_id, canary_id, name, lead, length, mac, created_at, created_by, revoked_at FROM canaries"
    " WHERE org_id = %s"
)


async def canaries_in_force(connection: Connection, org_id: str) -> Sequence[Canary]:
    rows = await (await connection.execute(f"{_SELECT} AND revoked_at IS NULL", [org_id])).fetchall()
    return [_canary(row) for row in rows]


async def list_canaries(connection: Connection, org_id: str, limit: int) -> Sequence[Canary]:
    """Newest first, those that were revoked among them."""
    query = f"{_SELECT} ORDER BY canary_id DESC LIMIT %s"
    return [_canary(row) for row in await (await connection.execute(query, [org_id, limit])).fetchall()]


async def find_canary(connection: Connection, org_id: str, canary_id: str) -> Canary:
    """Raises NotFoundError."""
    row = await (await connection.execute(f"{_SELECT} AND canary_id = %s", [org_id, canary_id])).fetchone()
    if row is None:
        raise NotFoundError(f"there is no canary token {canary_id}")
    return _canary(row)


async def insert_canary(connection: Connection, canary: Canary) -> None:
    await connection.execute(
        "INSERT INTO canaries (org_id, canary_id, name, lead, length, mac, created_at, created_by)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        [
            canary.org_id,
            canary.canary_id,
            canary.name,
            canary.lead,
            canary.length,
            canary.mac,
            canary.created_at,
            canary.created_by,
        ],
    )


async def revoke(connection: Connection, org_id: str, canary_id: str, at: datetime) -> None:
    await connection.execute(
        "UPDATE canaries SET revoked_at = %s WHERE org_id = %s AND canary_id = %s", [at, org_id, canary_id]
    )


def _canary(row: DictRow) -> Canary:
    return Canary(
        row["org_id"],
        row["canary_id"],
        row["name"],
        row["lead"],
        row["length"],
        bytes(row["mac"]),
        row["created_at"],
        row["created_by"],
        row["revoked_at"],
    )
