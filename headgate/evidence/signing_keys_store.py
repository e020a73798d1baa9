"""Of which signing keys each record was told last; the keys themselves are never in the database."""

from collections.abc import Sequence

from headgate.db.database import Connection


async def signing_keys_due(connection: Connection, key_ids: Sequence[str]) -> list[str]:
    """Organizations whose record was told of others than these, over all of them."""
    cursor = await connection.execute("SELECT org_id FROM signing_keys_due(%s)", [list(key_ids)])
    return [row["org_id"] for row in await cursor.fetchall()]


async def load_told_keys(connection: Connection, org_id: str) -> list[str] | None:
    """None: of none yet."""
    cursor = await connection.execute("SELECT signing_keys FROM audit_trees WHERE org_id = %s", [org_id])
    row = await cursor.fetchone()
    return None if row is None else row["signing_keys"]


async def save_told_keys(connection: Connection, org_id: str, key_ids: Sequence[str]) -> None:
    """Where it has a tree; a record that has none has no checkpoint either."""
    await connection.execute("UPDATE audit_trees SET signing_keys = %s WHERE org_id = %s", [list(key_ids), org_id])
