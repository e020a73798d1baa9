"""All SQL of recovery codes. Every function runs inside the caller's transaction of the organization."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from headgate.db.database import Connection
from headgate.mfa.model import CodeStatus


class Batch(Struct, frozen=True):
    batch_id: str
    salt: bytes


async def replace_codes(
    connection: Connection, org_id: str, user_id: str, batch: Batch, hashes: Sequence[bytes], at: datetime
) -> int:
    """In place of those that there were; how many of them were unused."""
    void = await delete_codes(connection, org_id, user_id)
    await connection.execute(
        "INSERT INTO mfa_recovery_batches (org_id, user_id, batch_id, salt, created_at) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (org_id, user_id) DO UPDATE SET batch_id = excluded.batch_id, salt = excluded.salt,"
        " created_at = excluded.created_at",
        [org_id, user_id, batch.batch_id, batch.salt, at],
    )
    await connection.execute(
        "INSERT INTO mfa_recovery_codes (org_id, user_id, batch_id, code_hash)"
        " SELECT %s, %s, %s, hash FROM unnest(%s::bytea[]) AS hash",
        [org_id, user_id, batch.batch_id, list(hashes)],
    )
    return void


async def lock_codes(connection: Connection, org_id: str, user_id: str) -> None:
    """Locks the batch's row until the transaction ends, so that concurrent changes of the codes run one by one."""
    await connection.execute(
        "SELECT FROM mfa_recovery_batches WHERE org_id = %s AND user_id = %s FOR UPDATE", [org_id, user_id]
    )


async def delete_codes(connection: Connection, org_id: str, user_id: str) -> int:
    """Deletes all codes. Returns the number of unused ones."""
    await lock_codes(connection, org_id, user_id)
    cursor = await connection.execute(
        "DELETE FROM mfa_recovery_codes WHERE org_id = %s AND user_id = %s RETURNING used_at", [org_id, user_id]
    )
    unused = [row for row in await cursor.fetchall() if row["used_at"] is None]
    await connection.execute("DELETE FROM mfa_recovery_batches WHERE org_id = %s AND user_id = %s", [org_id, user_id])
    return len(unused)


async def find_batch(connection: Connection, org_id: str, user_id: str) -> Batch | None:
    cursor = await connection.execute(
        "SELECT batch_id, salt FROM mfa_recovery_batches WHERE org_id = %s AND user_id = %s", [org_id, user_id]
    )
    row = await cursor.fetchone()
    return None if row is None else Batch(row["batch_id"], row["salt"])


async def code_status(connection: Connection, org_id: str, user_id: str) -> CodeStatus:
    cursor = await connection.execute(
        "SELECT b.created_at, count(*) FILTER (WHERE c.used_at IS NULL) AS unused, count(*) AS total"
        " FROM mfa_recovery_batches b JOIN mfa_recovery_codes c"
        " ON c.org_id = b.org_id AND c.user_id = b.user_id AND c.batch_id = b.batch_id"
        " WHERE b.org_id = %s AND b.user_id = %s GROUP BY b.created_at",
        [org_id, user_id],
    )
    row = await cursor.fetchone()
    return CodeStatus(0, 0, None) if row is None else CodeStatus(row["unused"], row["total"], row["created_at"])


async def claim_code(
    connection: Connection, org_id: str, user_id: str, code_hash: bytes, at: datetime, stale_before: datetime
) -> bool:
    """Of any number at once, one. A claim from before ``stale_before`` is that of a process that died."""
    cursor = await connection.execute(
        "UPDATE mfa_recovery_codes SET claimed_at = %s WHERE org_id = %s AND user_id = %s AND code_hash = %s"
        " AND used_at IS NULL AND (claimed_at IS NULL OR claimed_at < %s)",
        [at, org_id, user_id, code_hash, stale_before],
    )
    return cursor.rowcount == 1


async def release_code(
    connection: Connection, org_id: str, user_id: str, code_hash: bytes, claimed_at: datetime
) -> None:
    """Nothing was removed: the code is worth what it was."""
    await connection.execute(
        "UPDATE mfa_recovery_codes SET claimed_at = NULL"
        " WHERE org_id = %s AND user_id = %s AND code_hash = %s AND claimed_at = %s AND used_at IS NULL",
        [org_id, user_id, code_hash, claimed_at],
    )


async def use_code(
    connection: Connection, org_id: str, user_id: str, code_hash: bytes, claimed_at: datetime, at: datetime
) -> bool:
    """False where the claim was lost meanwhile: another has it, or the codes were made anew."""
    cursor = await connection.execute(
        "UPDATE mfa_recovery_codes SET used_at = %s"
        " WHERE org_id = %s AND user_id = %s AND code_hash = %s AND claimed_at = %s AND used_at IS NULL",
        [at, org_id, user_id, code_hash, claimed_at],
    )
    return cursor.rowcount == 1
