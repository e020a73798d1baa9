"""The processes that have reported a heartbeat."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from headgate.db.database import Connection

SILENT_AFTER: Final = timedelta(seconds=10)
"""Five heartbeats."""


class ReportedProcess(Struct, frozen=True):
    """``kind``: proxy or worker. ``is_silent``: its last heartbeat is older than 10 seconds."""

    kind: str
    version: str
    started_at: datetime
    heartbeat_at: datetime
    is_silent: bool


async def reported_processes(connection: Connection) -> Sequence[ReportedProcess]:
    """Of all processes on this database, by kind and age. The worker removes those that stay silent."""
    cursor = await connection.execute(
        "SELECT kind, version, started_at, heartbeat_at, heartbeat_at < clock_timestamp() - %s AS is_silent"
        " FROM instances ORDER BY kind, started_at, instance_id",
        [SILENT_AFTER],
    )
    return [ReportedProcess(**row) for row in await cursor.fetchall()]
