"""All SQL of the vault. Every function runs inside the caller's transaction of the organization."""

from collections.abc import Iterable

from msgspec import Struct

from headgate.db.database import Connection
from headgate.vault.envelope import Envelope


class UsedKey(Struct, frozen=True):
    """A master key's name, how much of all organizations is under it, and (organization, name) of one secret of the
    vault; None: only bodies are."""

    key_id: str
    secrets: int
    sample: tuple[str, str] | None


class SignedUnder(Struct, frozen=True):
    """``waiting``: rows of the journal that are not applied yet. ``set_aside``: entries that could not be applied."""

    waiting: int
    set_aside: int


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


async def keeps_secrets(connection: Connection, org_id: str) -> bool:
    """Whether anything of the organization is under a master key, here or elsewhere."""
    cursor = await connection.execute("SELECT keeps_secrets(%s) AS keeps", [org_id])
    row = await cursor.fetchone()
    return row is not None and bool(row["keeps"])


async def used_keys(connection: Connection) -> list[UsedKey]:
    """Which master keys are needed; reaches across organizations."""
    cursor = await connection.execute("SELECT key_id, secrets, org_id, name FROM vault_keys()")
    return [
        UsedKey(row["key_id"], row["secrets"], None if row["name"] is None else (row["org_id"], row["name"]))
        async for row in cursor
    ]


async def has_writers(connection: Connection) -> bool:
    """Whether any process has had signed entries of the journal applied, over all organizations."""
    row = await (await connection.execute("SELECT has_writers() AS found")).fetchone()
    return row is not None and bool(row["found"])


async def signed_under(connection: Connection, mark: bytes) -> SignedUnder:
    """What is signed under the key of this mark; reaches across organizations."""
    cursor = await connection.execute("SELECT waiting, set_aside FROM journal_under_key(%s)", [mark])
    row = await cursor.fetchone()
    return SignedUnder(0, 0) if row is None else SignedUnder(row["waiting"], row["set_aside"])


async def secrets_under_other_keys(
    connection: Connection, current: str, after: tuple[str, str], limit: int
) -> list[tuple[str, str]]:
    """(Organization, name), in order, of all organizations; ``after`` is the last one that was seen."""
    cursor = await connection.execute("SELECT org_id, name FROM vault_due(%s, %s, %s, %s)", [current, *after, limit])
    return [(row["org_id"], row["name"]) async for row in cursor]


async def exchange_envelope(connection: Connection, org_id: str, name: str, before: Envelope, after: Envelope) -> bool:
    """False where the secret was changed or forgotten meanwhile: then it is left as it is."""
    cursor = await connection.execute(
        "UPDATE vault_secrets SET key_id = %s, wrapped_key = %s"
        " WHERE org_id = %s AND name = %s AND key_id = %s AND wrapped_key = %s",
        [after.key_id, after.wrapped_key, org_id, name, before.key_id, before.wrapped_key],
    )
    return cursor.rowcount == 1
