"""Deferring, and what the queue looks like: the functions of ``schema/functions/queue``."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from headgate.db.database import Connection
from headgate.queue.model import Job


class QueueState(Struct, frozen=True):
    """``oldest_seconds``: for how long the first of those that may run has been waiting."""

    queue: str
    waiting: int
    oldest_seconds: float
    running: int
    dead: int


async def defer(
    connection: Connection,
    job: Job,
    org_id: str,
    subject_id: str,
    *,
    at: datetime | None = None,
    priority: int | None = None,
    lock: str | None = None,
    once: str | None = None,
) -> bool:
    """Add the job, in the caller's transaction; returns whether it was added (``once`` may find one waiting)."""
    cursor = await connection.execute(
        "SELECT defer_job(%s, %s, %s, %s, %s, %s, %s, %s) AS added",
        [job.queue, job.name, org_id, subject_id, job.priority if priority is None else priority, at, lock, once],
    )
    row = await cursor.fetchone()
    return row is not None and bool(row["added"])


async def queue_states(connection: Connection) -> Sequence[QueueState]:
    """Every queue that has jobs, over all organizations: numbers and nothing else."""
    cursor = await connection.execute("SELECT * FROM job_queues() ORDER BY queue_name")
    return [
        QueueState(row["queue_name"], row["waiting"], row["oldest_seconds"] or 0.0, row["running"], row["dead"])
        for row in await cursor.fetchall()
    ]
