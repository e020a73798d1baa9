"""All SQL of the vault. Every function runs inside the caller's transaction of the organization."""

from collections.abc import Iterable

from headgate.db.database import Connection
from headgate.vault.envelope import Envelope


async def put_envelope(connection: Connection, org_id: str, name: str, envelope: Envelope) -> None:
    """In place of the one of this name, if there is one."""
    await connection.execute(
        "INSERT INTO vault_secrets (org_id, name, key_id, wrapped_key, ciphertext) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (org_id, name) DO UPDATE SET key_id = excluded.key_id, wrapped_key = excluded.wrapped_key,"
        " ciphertext = excluded.ciphertext, updated_at = clock_timestamp()",
        [org_id, name, envelope.key_id, envelope.wrapped_key, envelope.ciphertext],
    )


async def get_envelopes(connection: Connection, org_id: str, names: Iterable[str]) -> dict[str, Envelope]:
    """Those that there are."""
    cursor = await connection.execute(
        "SELECT name, key_id, wrapped_key, ciphertext FROM vault_secrets WHERE org_id = %s AND name = ANY (%s)",
        [org_id, list(names)],
    )
    return {row["name"]: Envelope(row["key_id"], row["wrapped_key"], row["ciphertext"]) async for row in cursor}


async def list_names(connection: Connection, org_id: str, prefix: str) -> list[str]:
    cursor = await connection.execute(
        "SELECT name FROM vault_secrets WHERE org_id = %s AND starts_with(name, %s) ORDER BY name", [org_id, prefix]
    )
    return [row["name"] async for row in cursor]


async def delete_envelope(connection: Connection, org_id: str, name: str) -> None:
    await connection.execute("DELETE FROM vault_secrets WHERE org_id = %s AND name = %s", [org_id, name])
