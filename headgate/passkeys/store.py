"""Rows of passkeys and of the challenges that were given out."""

from datetime import datetime
from typing import Final

from psycopg.rows import DictRow

from headgate.db.database import Connection
from headgate.passkeys.model import Challenge, Passkey, Purpose

_COLUMNS: Final = (
    "org_id, passkey_id, user_id, credential_id, credential, user_handle, sign_count, name, created_at, last_used_at"
)


async def begin_challenge(connection: Connection, challenge_hash: bytes, challenge: Challenge) -> None:
    """Across organizations: who signs in is not known yet."""
    await connection.execute(
        "SELECT begin_passkey_challenge(%s, %s, %s, %s, %s)",
        [challenge_hash, challenge.purpose, challenge.about, challenge.user_handle, challenge.expires_at],
    )


async def take_challenge(connection: Connection, challenge_hash: bytes) -> Challenge | None:
    """What it was for; nobody finds it a second time. None: never given out, or used."""
    cursor = await connection.execute("SELECT * FROM take_passkey_challenge(%s)", [challenge_hash])
    row = await cursor.fetchone()
    if row is None:
        return None
    return Challenge(Purpose(row["purpose"]), row["about"], bytes(row["user_handle"]), row["expires_at"])


async def insert_passkey(connection: Connection, passkey: Passkey) -> bool:
    """False: this credential is registered already, here or elsewhere (section 7.1, step 26)."""
    inserted = await connection.execute(
        f"INSERT INTO passkeys ({_COLUMNS})"  # noqa: S608 - a constant of this file
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        [
            passkey.org_id,
            passkey.passkey_id,
            passkey.user_id,
            passkey.credential_id,
            passkey.credential,
            passkey.user_handle,
            passkey.sign_count,
            passkey.name,
            passkey.created_at,
            passkey.last_used_at,
        ],
    )
    return inserted.rowcount == 1


async def locate_passkey(connection: Connection, credential_id: bytes) -> Passkey | None:
    """Across organizations."""
    cursor = await connection.execute("SELECT * FROM passkey_by_credential(%s)", [credential_id])
    row = await cursor.fetchone()
    return None if row is None else _passkey(row)


async def list_passkeys(connection: Connection, org_id: str, user_id: str) -> list[Passkey]:
    """Oldest first."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM passkeys WHERE org_id = %s AND user_id = %s ORDER BY passkey_id",  # noqa: S608 - a constant of this file
        [org_id, user_id],
    )
    return [_passkey(row) async for row in cursor]


async def count_use(connection: Connection, passkey: Passkey, sign_count: int, at: datetime) -> bool:
    """False: the counter did not grow, so that there are two of them (section 7.2, step 22), or it was removed."""
    used = await connection.execute(
        "UPDATE passkeys SET sign_count = %(count)s, last_used_at = %(at)s"
        " WHERE org_id = %(org)s AND passkey_id = %(id)s"
        " AND (sign_count < %(count)s OR (sign_count = 0 AND %(count)s = 0))",
        {"count": sign_count, "at": at, "org": passkey.org_id, "id": passkey.passkey_id},
    )
    return used.rowcount == 1


async def delete_passkey(connection: Connection, org_id: str, user_id: str, passkey_id: str) -> bool:
    """False: this person has none with this id."""
    deleted = await connection.execute(
        "DELETE FROM passkeys WHERE org_id = %s AND user_id = %s AND passkey_id = %s", [org_id, user_id, passkey_id]
    )
    return deleted.rowcount == 1


async def delete_passkeys(connection: Connection, org_id: str, user_id: str) -> list[str]:
    """Deletes all passkeys of a person. Returns their ids, oldest first."""
    cursor = await connection.execute(
        "DELETE FROM passkeys WHERE org_id = %s AND user_id = %s RETURNING passkey_id", [org_id, user_id]
    )
    return sorted([row["passkey_id"] async for row in cursor])


def _passkey(row: DictRow) -> Passkey:
    return Passkey(
        org_id=row["org_id"],
        passkey_id=row["passkey_id"],
        user_id=row["user_id"],
        credential_id=bytes(row["credential_id"]),
        credential=bytes(row["credential"]),
        user_handle=bytes(row["user_handle"]),
        sign_count=row["sign_count"],
        name=row["name"],
        created_at=row["created_at"],
        last_used_at=row["last_used_at"],
    )
