"""A feed of what is not in the audit log: states that are compared with what they were a second before.

Events say which parts have changed, not how: a viewer that missed some has missed nothing once it reads the parts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from admin_api.feeds.frames import Batch, batch_of, frame
from admin_api.feeds.hand_out import hand_out
from admin_api.feeds.viewers import Viewer
from headgate.db.database import Connection, Database
from headgate.journal.apply import apply_before_reading

_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class StateChannel:
    """``parts``: the name of each, and what its state is now."""

    event: str
    parts: tuple[tuple[str, Callable[[Connection, str], Awaitable[object]]], ...]

    async def place(self, database: Database, org_id: str, last_event_id: int | None) -> tuple[int, int]:
        """Everybody begins in front of the first event, which names all parts."""
        return 0, 0

    def feed(self, database: Database, org_id: str, seq: int) -> "StateFeed":
        return StateFeed(database, org_id, self)

    async def missed(self, database: Database, org_id: str, seq: int, reached: int) -> tuple[int, Batch | None, bool]:
        return reached, self.batch(reached, [name for name, _ in self.parts]), False

    def batch(self, seq: int, names: list[str]) -> Batch:
        return batch_of([frame(seq, self.event, None, {"of": [*names]})])


class StateFeed:
    """``seq`` counts the events of this feed."""

    def __init__(self, database: Database, org_id: str, channel: StateChannel) -> None:
        self._database = database
        self._org_id = org_id
        self._channel = channel
        self.seq = 0
        self.viewers: set[Viewer] = set()

    async def poll(self) -> None:
        """Until nobody views it any more. Raises UnavailableError."""
        known: dict[str, object] = {}
        while self.viewers:
            now = await self._look()
            # At first, all: what has changed since the viewer read them is not known.
            changed = [name for name in now if name not in known or known[name] != now[name]]
            known = now
            if changed:
                self.seq += 1
                await hand_out(self._channel.batch(self.seq, changed), list(self.viewers))
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look(self) -> dict[str, object]:
        await apply_before_reading(self._database, self._org_id)
        async with self._database.transaction(self._org_id) as connection:
            return {name: await state(connection, self._org_id) for name, state in self._channel.parts}
