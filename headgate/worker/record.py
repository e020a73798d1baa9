"""What makes the record of what was told: outcomes folded, events sealed and indexed, partitions made ahead."""

from typing import Final

from headgate.actions.fold_outcomes import fold_due
from headgate.audit import sealer
from headgate.audit.indexer import index_due
from headgate.audit.store import ensure_partitions
from headgate.db.database import Database
from headgate.traffic.retention import drop_empty_partitions, ensure_traffic_partitions
from headgate.worker.loop import Loop

_DAY_SECONDS: Final = 24 * 3600.0


def record_loops(database: Database) -> list[Loop]:
    async def seal() -> int:
        return await sealer.seal_due(database)

    async def index() -> int:
        return await index_due(database)

    async def fold() -> int:
        return await fold_due(database)

    async def partitions() -> int:
        async with database.across_organizations() as connection:
            await ensure_partitions(connection)
            await ensure_traffic_partitions(connection)
        async with database.across_organizations() as connection:
            await drop_empty_partitions(connection)
        return 0

    return [
        Loop("seal", seal, busy_seconds=0.02, idle_seconds=1.0),
        Loop("index", index, busy_seconds=0.05, idle_seconds=5.0),
        Loop("fold", fold, busy_seconds=0.1, idle_seconds=1.0),
        # A month's partition is made a month ahead, so that a day without success costs nothing.
        Loop("partitions", partitions, busy_seconds=60.0, idle_seconds=_DAY_SECONDS, error_seconds=600.0),
    ]
