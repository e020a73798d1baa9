"""Moving what was recorded into the chains: the worker's loop body, and the API's seal before it reads."""

from typing import Final

import structlog

from headgate.audit import store
from headgate.db.database import Database
from headgate.db.rounds import total_of
from headgate.kernel.errors import UnavailableError

_log = structlog.get_logger(__name__)

_BATCH_EVENTS: Final = 1_000
_BACKLOG_EVENTS: Final = 4_000
"""In one commit, where so many wait: a commit takes as long as sealing some hundred events."""
_LOCK_TIMEOUT: Final = "2s"
_MAX_BATCHES_BEFORE_READING: Final = 10


async def seal_due(database: Database) -> int:
    """Seal one batch of what the organizations have waiting; returns how many events were sealed.

    An organization that cannot be sealed now does not keep the others waiting. Raises UnavailableError where
    none could be.
    """
    async with database.across_organizations() as connection:
        shares = await store.seal_due(connection, _BACKLOG_EVENTS)
    return total_of(shares, failed_event="audit_seal_failed")


async def seal_before_reading(database: Database, org_id: str) -> None:
    """Seal what is in the inbox, so that a reader finds what was recorded before it asked.

    Where another sealer holds the chain for longer than two seconds, or the backlog is larger than a reader
    should wait for, the reader gets what is sealed: the events are durable all the same.
    """
    for _ in range(_MAX_BATCHES_BEFORE_READING):
        try:
            async with database.transaction(org_id) as connection:
                await connection.execute("SELECT set_config('lock_timeout', %s, true)", [_LOCK_TIMEOUT])
                sealed = await store.seal(connection, org_id, _BATCH_EVENTS, wait=True)
        except UnavailableError as error:
            _log.warning("audit_seal_before_reading_failed", org_id=org_id, cause=str(error.__cause__))
            return
        if sealed < _BATCH_EVENTS:
            return
