"""The worker's loop body that indexes full blocks of the record (``block_store``).

No reader waits for it: blocks that are not indexed yet are read from the events.
"""

from typing import Final

import structlog

from headgate.audit import block_store
from headgate.audit.blocks import facet_masks
from headgate.db.database import Database
from headgate.kernel.errors import HeadgateError, UnavailableError

_log = structlog.get_logger(__name__)

_BLOCKS_AT_ONCE: Final = 4
"""Few, so that a round is short."""


async def index_due(database: Database) -> int:
    """One round; returns how many blocks were indexed. An organization that fails does not stop the others. Raises
    UnavailableError if all failed."""
    async with database.single_statement() as connection:
        due = await block_store.blocks_due(connection)
    indexed, failed = 0, 0
    for one in due:
        try:
            for block in range(one.first_block, one.first_block + min(one.blocks, _BLOCKS_AT_ONCE)):
                indexed += await _index(database, one.org_id, block)
        except HeadgateError as error:
            failed += 1
            _log.error("audit_index_failed", org_id=one.org_id, cause=str(error.__cause__ or error))
        if indexed >= _BLOCKS_AT_ONCE:
            break
    if failed and not indexed:
        raise UnavailableError("no block of the record could be indexed")
    return indexed


async def _index(database: Database, org_id: str, block: int) -> bool:
    async with database.transaction(org_id) as connection:
        events, actions = await block_store.load_block(connection, org_id, block)
        return await block_store.add_block(connection, org_id, block, facet_masks(events, actions))
