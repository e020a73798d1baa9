"""Says when a loop has something to do, so that an idle worker asks one question instead of one for each loop.

Seven loops that each opened a transaction to find nothing took 3 % of a core. One statement asks for all of them, over
a connection of its own and without a transaction. A loop that it wakes looks for itself. A watch that cannot look wakes
all of them, again and again until it can.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

import structlog
from msgspec import Struct

from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.worker.due_store import OFTEN, SELDOM, DueSettings, who_is_due
from headgate.worker.loop import Loop

_log = structlog.get_logger(__name__)

_LOOK_SECONDS: Final = 0.2
"""How late what was recorded may be applied and told."""
_LOOKS_OF_SELDOM: Final = 5
"""Every which look asks for the loops that may be a second late."""
_PAUSE_SECONDS: Final = 2.0


class Watch(Struct, frozen=True):
    """``database`` is in autocommit mode, with one connection. ``every``, ``events``: of checkpoints."""

    database: Database
    clock: Clock
    every: timedelta
    events: int

    async def keep_looking(self, loops: Sequence[Loop], stop: asyncio.Event) -> None:
        """Wakes loops until ``stop`` is set."""
        named = {loop.name: loop for loop in loops if loop.wake is not None}
        look = 0
        while not stop.is_set():
            seconds = _LOOK_SECONDS
            try:
                await self._look(named, seldom_too=look % _LOOKS_OF_SELDOM == 0)
            except Exception as error:  # noqa: BLE001 - loops that nothing wakes would be late
                _log.warning("worker_watch_waits", error=repr(error))
                for loop in named.values():
                    _wake(loop)
                seconds = _PAUSE_SECONDS
            look += 1
            await asyncio.sleep(seconds)

    async def _look(self, named: Mapping[str, Loop], *, seldom_too: bool) -> None:
        names = [name for name in (*OFTEN, *(SELDOM if seldom_too else ())) if name in named]
        if not names:
            return
        settings = DueSettings(self.clock(), self.every, self.events)
        for name in await who_is_due(self.database, names, settings):
            _wake(named[name])


def _wake(loop: Loop) -> None:
    if loop.wake is not None:
        loop.wake.set()
