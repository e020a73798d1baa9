"""Executions whose process is gone, or no longer knows of them, are closed: failed, outcome unknown.

Whether the call took effect cannot be known, so no approval's use is given back, and nothing is sent again but what its
catalogue declares repeatable (semantics.md, "Recording").
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from headgate.actions.execution_store import (
    Orphan,
    fail_executions,
    find_executions,
    forget_silent_instances,
    orphaned_executions,
)
from headgate.audit.model import SYSTEM, Event, EventType, payload_text
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.executions.limits import load_limits
from headgate.executions.store import release_orphans
from headgate.journal.apply import require_applied
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock

_log = structlog.get_logger(__name__)

DEAD_AFTER: Final = timedelta(seconds=10)  # five heartbeats missed
GRACE: Final = timedelta(seconds=5)  # longer than a record or an outcome may take to be written
FORGET_AFTER: Final = timedelta(hours=1)
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
    async with database.across_organizations() as connection:
        due = await orphaned_executions(connection, dead_after, grace)
    closed = 0
    for org_id, orphans in due.items():
        await require_applied(database, org_id)  # an outcome that its process recorded counts
        async with database.transaction(org_id) as connection:
            closed += await _close(connection, org_id, orphans, clock())
        _log.warning("orphaned_executions_closed", org_id=org_id, executions=len(orphans))
    return closed


async def _close(connection: Connection, org_id: str, found: Sequence[Orphan], now: datetime) -> int:
    # Of Headgate's own attempts, what is declared repeatable is made again rather than ended.
    limits = await load_limits(connection, org_id)
    to_end = await release_orphans(
        connection,
        org_id,
        found,
        most_attempts=limits.most_attempts,
        at=now,
        payload=payload_text(SYSTEM, {"reason": OUTCOME_UNKNOWN}),
    )
    if not to_end:
        return 0
    orphans = await find_executions(connection, org_id, to_end)
    ended = await fail_executions(connection, org_id, orphans, error=OUTCOME_UNKNOWN, at=now)
    data: list[JsonObject] = [{"execution_id": one.execution_id, "error": OUTCOME_UNKNOWN} for one in ended]
    events = [
        Event(EventType.EXECUTION_FAILED, now, SYSTEM, said, action_id=one.action_id, agent_id=one.agent_id)
        for one, said in zip(ended, data, strict=True)
    ]
    await append(connection, org_id, events)
    return len(ended)


async def forget_instances(database: Database, *, after: timedelta = FORGET_AFTER) -> int:
    """Delete the rows of processes that have not been heard of for long; what they had was closed before."""
    async with database.across_organizations() as connection:
        return await forget_silent_instances(connection, after)
