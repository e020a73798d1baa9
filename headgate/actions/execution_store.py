"""Executions and the processes that carry them out, in the database: functions of ``schema/functions/executions``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from headgate.db.database import Connection

_FAIL: Final = """
    SELECT record_outcomes(
        p_org => %(org)s::text[], p_execution => %(execution)s::text[], p_action => %(action)s::text[],
        p_agent => %(agent)s::text[], p_succeeded => %(succeeded)s::boolean[],
        p_completed => %(completed)s::timestamptz[], p_error => %(error)s::text[], p_result => %(nothing)s::text[],
        p_payload => %(payload)s::text[], p_give_back => %(nothing)s::text[]) AS closed
"""


@dataclass(frozen=True, slots=True)
class Orphan:
    """An attempt that nobody carries out any more, as it was when it was found."""

    execution_id: str
    instance_id: str
    started_at: datetime


@dataclass(frozen=True, slots=True)
class RunningExecution:
    """One execution with its action and the action's agent."""

    execution_id: str
    action_id: str
    agent_id: str


async def beat_instance(connection: Connection, instance_id: str, kind: str, oldest: datetime | None) -> None:
    """A heartbeat of a process; ``oldest``: since when its oldest execution has been running."""
    await connection.execute("SELECT beat_instance(%s, %s, %s)", [instance_id, kind, oldest])


async def end_instance(connection: Connection, instance_id: str) -> None:
    """The process has gone; what still runs under its name is orphaned at once."""
    await connection.execute("SELECT end_instance(%s)", [instance_id])


async def forget_silent_instances(connection: Connection, after: timedelta) -> int:
    """Delete the rows of processes that have not been heard of for so long; returns how many."""
    cursor = await connection.execute(
        "SELECT end_instance(instance_id) FROM instances WHERE heartbeat_at < clock_timestamp() - %s", [after]
    )
    return cursor.rowcount


async def orphaned_executions(
    connection: Connection, dead_after: timedelta, grace: timedelta
) -> Mapping[str, Sequence[Orphan]]:
    """What nobody carries out any more, by organization."""
    cursor = await connection.execute(
        "SELECT org_id, execution_id, instance_id, started_at FROM executions_orphaned_due(%s, %s)",
        [dead_after, grace],
    )
    found: dict[str, list[Orphan]] = {}
    for row in await cursor.fetchall():
        orphan = Orphan(row["execution_id"], row["instance_id"], row["started_at"])
        found.setdefault(row["org_id"], []).append(orphan)
    return found


async def find_executions(
    connection: Connection, org_id: str, execution_ids: Sequence[str]
) -> Sequence[RunningExecution]:
    """Those of these executions that exist, by id."""
    cursor = await connection.execute(
        "SELECT e.execution_id, e.action_id, a.agent_id FROM executions e"
        " JOIN actions a ON a.org_id = e.org_id AND a.action_id = e.action_id"
        " WHERE e.org_id = %s AND e.execution_id = ANY (%s) ORDER BY e.execution_id",
        [org_id, list(execution_ids)],
    )
    return [RunningExecution(row["execution_id"], row["action_id"], row["agent_id"]) for row in await cursor.fetchall()]


async def fail_executions(
    connection: Connection,
    org_id: str,
    failed: Sequence[RunningExecution],
    payloads: Sequence[str],
    *,
    error: str,
    at: datetime,
) -> int:
    """End them as failed, no use given back; returns how many had not ended yet. ``payloads``: of their events."""
    count = len(failed)
    cursor = await connection.execute(
        _FAIL,
        {
            "org": [org_id] * count,
            "execution": [one.execution_id for one in failed],
            "action": [one.action_id for one in failed],
            "agent": [one.agent_id for one in failed],
            "succeeded": [False] * count,
            "completed": [at] * count,
            "error": [error] * count,
            "nothing": [None] * count,
            "payload": list(payloads),
        },
    )
    row = await cursor.fetchone()
    return int(row["closed"]) if row is not None else 0
