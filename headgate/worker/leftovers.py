"""What is closed, found again or forgotten: work of processes that died, and what is kept for a while only."""

import time
from datetime import timedelta
from typing import Final

from headgate.db.database import Database
from headgate.executions.store import find_lost as find_lost_executions
from headgate.executions.store import forget_calls
from headgate.integrations.store import forget_receipts
from headgate.kernel.clock import Clock
from headgate.vault.service import Vault
from headgate.worker.loop import Loop
from headgate.worker.orphans import OrphanWatch
from headgate.workflows.keep_within_limits import RetentionSweep

_KEEP_FAILED_CALLS: Final = timedelta(days=7)
"""How long a failed execution can be retried."""
_DAY_SECONDS: Final = 24 * 3600.0


def leftover_loops(database: Database, vault: Vault, clock: Clock) -> list[Loop]:
    orphans = OrphanWatch(database, clock, time.monotonic)
    sweep = RetentionSweep(database, vault, clock)

    async def find_lost() -> int:
        async with database.across_organizations() as connection:
            return await find_lost_executions(connection)

    async def forget() -> int:
        async with database.across_organizations() as connection:
            return await forget_calls(connection, _KEEP_FAILED_CALLS)

    async def forget_received() -> int:
        async with database.across_organizations() as connection:
            return await forget_receipts(connection)

    return [
        Loop("orphans", orphans.run, busy_seconds=1.0, idle_seconds=2.0),
        Loop("lost_executions", find_lost, busy_seconds=5.0, idle_seconds=60.0),
        Loop("forget_calls", forget, busy_seconds=1.0, idle_seconds=3600.0),
        Loop("forget_receipts", forget_received, busy_seconds=60.0, idle_seconds=_DAY_SECONDS, error_seconds=600.0),
        Loop("retention", sweep.run, busy_seconds=0.2, idle_seconds=600.0, error_seconds=60.0),
    ]
