"""Executions whose process is gone, or no longer knows of them, are closed: failed, outcome unknown.

Whether the call took effect cannot be known, so nothing is sent again and no approval's use is given back
(semantics.md, "Recording").
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from headgate.actions.execution_store import (
    fail_executions,
    find_executions,
    forget_silent_instances,
    orphaned_executions,
)
from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Connection, Database
from headgate.kernel.clock import Clock

_log = structlog.get_logger(__name__)

DEAD_AFTER: Final = timedelta(seconds=10)  # five heartbeats missed
GRACE: Final = timedelta(seconds=5)  # longer than a record or an outcome may take to be written
_FORGET_INSTANCE_AFTER: Final = timedelta(hours=1)
OUTCOME_UNKNOWN: Final = (
    "outcome unknown: the process that carried it out ended, or gave it up, before it told how it went"
)


async def close_orphans(
    database: Database, clock: Clock, *, dead_after: timedelta = DEAD_AFTER, grace: timedelta = GRACE
) -> int:
    """Close what is orphaned now; returns how many. Raises UnavailableError.

    After an outage of the database every heartbeat is old: call this only once the processes have had
    ``dead_after`` to beat again (headgate.worker.orphans sees to it).
    """
    due: dict[str, list[str]] = defaultdict(list)
    async with database.across_organizations() as connection:
        for org_id, execution_id in await orphaned_executions(connection, dead_after, grace):
            due[org_id].append(execution_id)
    closed = 0
    for org_id, execution_ids in due.items():
        async with database.transaction(org_id) as connection:
            closed += await _close(connection, org_id, execution_ids, clock())
        _log.warning("orphaned_executions_closed", org_id=org_id, executions=len(execution_ids))
    return closed


async def _close(connection: Connection, org_id: str, execution_ids: Sequence[str], now: datetime) -> int:
    orphans = await find_executions(connection, org_id, execution_ids)
    if not orphans:
        return 0
    payloads = [
        payload_text(SYSTEM, {"execution_id": orphan.execution_id, "error": OUTCOME_UNKNOWN}) for orphan in orphans
    ]
    return await fail_executions(connection, org_id, orphans, payloads, error=OUTCOME_UNKNOWN, at=now)


async def forget_instances(database: Database, *, after: timedelta = _FORGET_INSTANCE_AFTER) -> int:
    """Delete the rows of processes that have not been heard of for long; what they had was closed before."""
    async with database.across_organizations() as connection:
        return await forget_silent_instances(connection, after)
