"""The worker's loop body that indexes full blocks of the record (``block_store``).

Nobody waits for it: what it has not reached yet is found by looking at it.
"""

from typing import Final

from headgate.audit import block_store
from headgate.db.database import Database
from headgate.db.rounds import total_of

_BLOCKS_AT_ONCE: Final = 4
"""Few, so that a round is short beside the sealing of what is recorded meanwhile."""


async def index_due(database: Database) -> int:
    """One round; returns how many blocks were indexed. Raises UnavailableError where none could be."""
    async with database.across_organizations() as connection:
        shares = await block_store.index_due(connection, _BLOCKS_AT_ONCE)
    return total_of(shares, failed_event="audit_index_failed")
