"""Makes the record: applies the journal, indexes the chain; makes partitions ahead, and deletes old counts."""

import asyncio
from typing import Final

from headgate.audit.indexer import index_due
from headgate.audit.store import ensure_partitions
from headgate.db.database import Database
from headgate.journal.apply import apply_due
from headgate.journal.store import forget_writers
from headgate.traffic.retention import drop_empty_partitions, ensure_traffic_partitions
from headgate.worker.loop import WATCHED_SECONDS, Loop

_DAY_SECONDS: Final = 24 * 3600.0


def record_loops(database: Database) -> list[Loop]:
    async def apply() -> int:
        return await apply_due(database)

    async def index() -> int:
        return await index_due(database)

    async def partitions() -> int:
        async with database.across_organizations() as connection:
            await ensure_partitions(connection)
            await ensure_traffic_partitions(connection)
            await forget_writers(connection)
        async with database.across_organizations() as connection:
            await drop_empty_partitions(connection)
        return 0

    return [
        # Large rounds are cheap: at 600 calls a second, one of 200 ms costs a third of what one of 20 ms does.
        Loop("apply", apply, busy_seconds=0.2, idle_seconds=WATCHED_SECONDS, wake=asyncio.Event()),
        Loop("index", index, busy_seconds=0.05, idle_seconds=5.0),
        # A month's partition is made a month ahead, so that a day without success costs nothing.
        Loop("partitions", partitions, busy_seconds=60.0, idle_seconds=_DAY_SECONDS, error_seconds=600.0),
    ]
