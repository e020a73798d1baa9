"""What a log says of restores from backups: why a checkpoint that somebody kept may be of events that are lost.

A restore is a rollback, and the log that goes on after it is a fork of the log before it. Nobody who kept a later
checkpoint should overlook that, and nobody should take it for a forgery: the log says who restored what, and where the
log ended then (docs/decisions/0091-a-rollback-that-the-log-explains.md).
"""

from datetime import datetime

from msgspec import Struct

from headgate.audit.model import EventType
from headgate.audit.store import load_events
from headgate.db.database import Connection
from headgate.kernel.clock import rfc3339


class RecordedRestore(Struct, frozen=True):
    """``seq`` and ``event_id`` are of the event; ``head_seq``: the newest event of the log in the backup."""

    seq: int
    event_id: str
    at: datetime | None
    restored_by: str
    backup_id: str
    head_seq: int

    def describe(self) -> str:
        when = "" if self.at is None else f" at {rfc3339(self.at)}"
        return (
            f"{self.restored_by} restored the backup {self.backup_id}{when}, in which the log ended at event"
            f" {self.head_seq} (event {self.seq}, {self.event_id})"
        )


async def recorded_restores(connection: Connection, org_id: str) -> tuple[RecordedRestore, ...]:
    """Oldest first. Events whose rows are not what was sealed are left out: they say nothing."""
    cursor = await connection.execute(
        "SELECT seq FROM audit_events WHERE org_id = %s AND event_type = %s ORDER BY seq",
        [org_id, EventType.BACKUP_RESTORED.value],
    )
    seqs = [int(row["seq"]) for row in await cursor.fetchall()]
    found = []
    for event in reversed(await load_events(connection, org_id, seqs)):
        head = event.data.get("head_seq")
        if event.problem is None and isinstance(head, int):
            by, backup = str(event.data.get("restored_by")), str(event.data.get("backup_id"))
            found.append(RecordedRestore(event.seq, event.event_id, event.created_at, by, backup, head))
    return tuple(found)
