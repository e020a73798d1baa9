"""Reads the end of an organization's audit chain, where a stream begins if its client names no place."""

from headgate.audit.feed_store import newest_seq
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading


async def end_of_chain(database: Database, org_id: str) -> int:
    """The ``seq`` of the newest event; 0 if there is none. Applies the journal first. Raises UnavailableError."""
    await apply_before_reading(database, org_id)
    async with database.transaction(org_id) as connection:
        return await newest_seq(connection, org_id)
