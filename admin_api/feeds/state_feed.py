"""A feed of states that the audit log does not have. It compares them once a second.

Events say which parts have changed, not how: a viewer that missed some reads the parts and has all changes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from admin_api.feeds.frames import Batch, batch_of, frame
from admin_api.feeds.hand_out import hand_out
from admin_api.feeds.viewers import Viewer
from headgate.db.database import Connection, Database
from headgate.journal.apply import apply_before_reading

_LOOK_SECONDS: Final = 1.0


class StateChannel(Struct, frozen=True):
    """``parts``: the name of each, and a function that reads its current state."""

    event: str
    parts: tuple[tuple[str, Callable[[Connection, str], Awaitable[object]]], ...]

    async def place(self, database: Database, org_id: str, last_event_id: int | None) -> tuple[int, int]:
        """Returns the place before the first event, which names all parts, for each viewer."""
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
        """Polls while the feed has viewers. Raises UnavailableError."""
        known: dict[str, object] = {}
        while self.viewers:
            now = await self._look()
            # The first look names all parts: the feed does not know what changed since the viewer read them.
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
