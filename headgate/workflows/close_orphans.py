"""Executions whose process is gone, or no longer knows of them, are closed: failed, outcome unknown.

Whether the call took effect cannot be known, so nothing is sent again and no approval's use is given back
(semantics.md, "Recording").
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

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

_CLOSE: Final = """
    SELECT record_outcomes(%(org)s::text[], %(execution)s::text[], %(action)s::text[], %(agent)s::text[],
        %(succeeded)s::boolean[], %(completed)s::timestamptz[], %(error)s::text[], %(nothing)s::text[],
        %(payload)s::text[], %(nothing)s::text[]) AS closed
"""


async def close_orphans(
    database: Database, clock: Clock, *, dead_after: timedelta = DEAD_AFTER, grace: timedelta = GRACE
) -> int:
    """Close what is orphaned now; returns how many. Raises UnavailableError.

    After an outage of the database every heartbeat is old: call this only once the processes have had
    ``dead_after`` to beat again (headgate.worker.orphans sees to it).
    """
    due: dict[str, list[str]] = defaultdict(list)
    async with database.across_organizations() as connection:
        cursor = await connection.execute(
            "SELECT org_id, execution_id FROM executions_orphaned_due(%s, %s)", [dead_after, grace]
        )
        for row in await cursor.fetchall():
            due[row["org_id"]].append(row["execution_id"])
    closed = 0
    for org_id, execution_ids in due.items():
        async with database.transaction(org_id) as connection:
            closed += await _close(connection, org_id, execution_ids, clock())
        _log.warning("orphaned_executions_closed", org_id=org_id, executions=len(execution_ids))
    return closed


async def _close(connection: Connection, org_id: str, execution_ids: Sequence[str], now: datetime) -> int:
    cursor = await connection.execute(
        "SELECT e.execution_id, e.action_id, a.agent_id FROM executions e"
        " JOIN actions a ON a.org_id = e.org_id AND a.action_id = e.action_id"
        " WHERE e.org_id = %s AND e.execution_id = ANY (%s) ORDER BY e.execution_id",
        [org_id, list(execution_ids)],
    )
    orphans = await cursor.fetchall()
    if not orphans:
        return 0
    count = len(orphans)
    closed = await connection.execute(
        _CLOSE,
        {
            "org": [org_id] * count,
            "execution": [orphan["execution_id"] for orphan in orphans],
            "action": [orphan["action_id"] for orphan in orphans],
            "agent": [orphan["agent_id"] for orphan in orphans],
            "succeeded": [False] * count,
            "completed": [now] * count,
            "error": [OUTCOME_UNKNOWN] * count,
            "nothing": [None] * count,
            "payload": [
                payload_text(SYSTEM, {"execution_id": orphan["execution_id"], "error": OUTCOME_UNKNOWN})
                for orphan in orphans
            ],
        },
    )
    row = await closed.fetchone()
    return int(row["closed"]) if row is not None else 0


async def forget_instances(database: Database, *, after: timedelta = _FORGET_INSTANCE_AFTER) -> int:
    """Delete the rows of processes that have not been heard of for long; what they had was closed before."""
    async with database.across_organizations() as connection:
        cursor = await connection.execute(
            "SELECT end_instance(instance_id) FROM instances WHERE heartbeat_at < clock_timestamp() - %s", [after]
        )
        return cursor.rowcount
