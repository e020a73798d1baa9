"""This process as others see it: a heartbeat, and what it has in flight (semantics.md, "Recording").

A process that stops beating, or whose oldest call in flight is younger than an execution recorded under its
name, has given that execution up; the worker closes it as failed, outcome unknown.
"""

import asyncio
import time
from contextlib import suppress
from datetime import datetime
from typing import Final

from headgate.actions.execution_store import beat_instance, end_instance
from headgate.db.database import Database
from headgate.kernel.errors import UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.program import PROGRAM_VERSION

HEARTBEAT_SECONDS: Final = 2.0
_HEARD_SECONDS: Final = 4 * HEARTBEAT_SECONDS


class Instance:
    """One process that records executions under its own name."""

    def __init__(self, kind: str, database: Database) -> None:
        self.instance_id = new_id(IdPrefix.INSTANCE)
        self._kind = kind
        self._database = database
        # Insertion order is the order of starting, so that the first entry is the oldest.
        self._in_flight: dict[str, datetime] = {}
        self._beaten_at = float("-inf")

    @property
    def is_heard(self) -> bool:
        """Whether the database took a heartbeat lately."""
        return time.monotonic() - self._beaten_at < _HEARD_SECONDS

    def began(self, execution_id: str, started_at: datetime) -> None:
        """Before the execution is recorded, so that no heartbeat in between disowns it."""
        self._in_flight[execution_id] = started_at

    def ended(self, execution_id: str) -> None:
        """After its outcome is durable, or when this process cannot tell it."""
        self._in_flight.pop(execution_id, None)

    async def beat(self) -> None:
        """One heartbeat. Raises UnavailableError."""
        oldest = next(iter(self._in_flight.values()), None)
        async with self._database.single_statement() as connection:
            await beat_instance(connection, self.instance_id, self._kind, PROGRAM_VERSION, oldest)
        self._beaten_at = time.monotonic()

    async def keep_beating(self) -> None:
        """Beat for ever; while the database is gone nothing is recorded under this name either."""
        while True:
            with suppress(UnavailableError):
                await self.beat()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def end(self) -> None:
        """Say goodbye: what is still recorded as running under this name is closed at once."""
        with suppress(UnavailableError):
            async with self._database.across_organizations() as connection:
                await end_instance(connection, self.instance_id)
