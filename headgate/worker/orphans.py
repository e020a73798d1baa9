"""When orphans may be closed: only after the database has been there for as long as a silence means death.

While Postgres was away nobody could beat, so every heartbeat is old when it is back; closing at once would take
the executions of every living process for dead.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from headgate.actions.execution_store import what_is_left
from headgate.db.database import Database
from headgate.executions.close_orphans import DEAD_AFTER, FORGET_AFTER, GRACE, close_orphans, forget_instances
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError

_PATIENCE: Final = timedelta(seconds=2)
"""More than one heartbeat's time, so that a process that beats as soon as it can is heard first."""


class OrphanWatch:
    """The loop body; ``monotonic`` is a clock in seconds that never jumps."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        monotonic: Callable[[], float],
        *,
        dead_after: timedelta = DEAD_AFTER,
        grace: timedelta = GRACE,
    ) -> None:
        self._database = database
        self._clock = clock
        self._monotonic = monotonic
        self._dead_after = dead_after
        self._grace = grace
        self._reachable_since: float | None = None

    async def run(self) -> int:
        """One look. Raises UnavailableError, after which the waiting begins anew."""
        try:
            async with self._database.single_statement() as connection:
                has_orphans, has_silent = await what_is_left(connection, self._dead_after, self._grace, FORGET_AFTER)
            if not self._is_patient():
                return 0
            closed = 0
            if has_orphans:
                closed = await close_orphans(
                    self._database, self._clock, dead_after=self._dead_after, grace=self._grace
                )
            if has_silent:
                await forget_instances(self._database)
        except UnavailableError:
            self._reachable_since = None
            raise
        return closed

    def _is_patient(self) -> bool:
        now = self._monotonic()
        if self._reachable_since is None:
            self._reachable_since = now
        return now - self._reachable_since >= (self._dead_after + _PATIENCE).total_seconds()
