"""The entries that are set aside, in the database: kept, read, and taken out again."""

from typing import Final

from psycopg.rows import tuple_row

from headgate.db.database import Connection
from headgate.journal.set_aside import SetAside

_ENTRIES: Final = """
    SELECT journal_id, position, is_event, entry, failure, set_aside_at FROM journal_set_aside WHERE org_id = %s
"""


async def set_aside(
    connection: Connection,
    org_id: str,
    journal_id: int,
    position: int,
    entry: bytes,
    failure: str,
    *,
    is_event: bool,
) -> None:
    """Keeps an entry that cannot be applied, for a person to look at."""
    await connection.execute(
        "SELECT set_aside_entry(%s, %s, %s, %s, %s, %s)", [org_id, journal_id, position, entry, failure, is_event]
    )


async def list_set_aside(connection: Connection, org_id: str, *, limit: int) -> list[SetAside]:
    """The oldest ``limit``."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(f"{_ENTRIES} ORDER BY journal_id, position LIMIT %s", [org_id, limit])
        return [SetAside(*row) for row in await cursor.fetchall()]


async def find_set_aside(connection: Connection, org_id: str, journal_id: int, position: int) -> SetAside | None:
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(f"{_ENTRIES} AND journal_id = %s AND position = %s", [org_id, journal_id, position])
        row = await cursor.fetchone()
    return None if row is None else SetAside(*row)


async def take_set_aside(connection: Connection, org_id: str, journal_id: int, position: int) -> None:
    """It is applied by this transaction, which holds the chain's lock."""
    await connection.execute("SELECT take_set_aside(%s, %s, %s)", [org_id, journal_id, position])
