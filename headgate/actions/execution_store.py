"""Executions and the processes that carry them out, in the database: functions of ``schema/functions/executions``."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from headgate.db.database import Connection


class Orphan(Struct, frozen=True):
    """An attempt that nobody carries out any more, as it was when it was found. ``instance_id`` None: its agent took
    it."""

    execution_id: str
    instance_id: str | None
    started_at: datetime


class RunningExecution(Struct, frozen=True):
    """One execution with its action and the action's agent."""

    execution_id: str
    action_id: str
    agent_id: str


async def beat_instance(
    connection: Connection, instance_id: str, kind: str, version: str, oldest: datetime | None
) -> None:
    """A heartbeat of a process; ``version``: of its program; ``oldest``: since when its oldest execution has been
    running."""
    await connection.execute("SELECT beat_instance(%s, %s, %s, %s)", [instance_id, kind, version, oldest])


async def end_instance(connection: Connection, instance_id: str) -> None:
    """The process has gone; what still runs under its name is orphaned at once."""
    await connection.execute("SELECT end_instance(%s)", [instance_id])


async def forget_silent_instances(connection: Connection, after: timedelta) -> int:
    """Delete the rows of processes that have not been heard of for so long; returns how many."""
    cursor = await connection.execute(
        "SELECT end_instance(instance_id) FROM instances WHERE heartbeat_at < clock_timestamp() - %s", [after]
    )
    return cursor.rowcount


async def what_is_left(
    connection: Connection, dead_after: timedelta, grace: timedelta, forget_after: timedelta
) -> tuple[bool, bool]:
    """Whether there are orphaned executions, and whether there are rows of processes silent for ``forget_after``."""
    cursor = await connection.execute(
        "SELECT EXISTS (SELECT FROM executions_orphaned_due(%s, %s)) AS executions,"
        " EXISTS (SELECT FROM instances WHERE heartbeat_at < clock_timestamp() - %s) AS instances",
        [dead_after, grace, forget_after],
    )
    row = await cursor.fetchone() or {}
    return row["executions"], row["instances"]


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
    connection: Connection, org_id: str, failed: Sequence[RunningExecution], *, error: str, at: datetime
) -> list[RunningExecution]:
    """Ends them as failed, and gives back no use; returns those that had not ended yet."""
    count = len(failed)
    cursor = await connection.execute(
        "SELECT unnest(end_executions(%s, %s, %s, %s, %s, %s::text[])) AS execution_id",
        [org_id, [one.execution_id for one in failed], [False] * count, [at] * count, [error] * count, [None] * count],
    )
    ended = {row["execution_id"] for row in await cursor.fetchall()}
    return [one for one in failed if one.execution_id in ended]
