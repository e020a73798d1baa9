"""One poller for each organization and channel with at least one viewer; what it finds goes to all of them.

A viewer costs the database nothing while it waits: 500 viewers read what one look found.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from admin_api.chain_end import end_of_chain
from admin_api.feeds.frames import Batch, Frame, batch_of
from admin_api.feeds.hand_out import hand_out
from admin_api.feeds.state_feed import StateChannel, StateFeed
from admin_api.feeds.viewers import Places, Viewer
from headgate.audit.feed_store import FeedEvent, events_after, newest_seq
from headgate.audit.model import EventType
from headgate.db.database import Connection, Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet

_LOOK_SECONDS: Final = 0.25
_LOOK_AFTER_EVENTS_SECONDS: Final = 0.5
"""A busy organization's record is applied in fewer, larger rounds."""
_EVENTS_AT_ONCE: Final = 200


class Channel(Struct, frozen=True):
    """Which events a stream is about, and how they are told. ``skips_behind``: a reader that is so many events of the
    chain behind goes on at its end, and ``skipped`` says so; None: it gets each event."""

    types: Sequence[EventType]
    frames: Callable[[Connection, str, Sequence[FeedEvent]], Awaitable[Sequence[Frame]]]
    skips_behind: int | None = None
    skipped: Callable[[int], Frame] | None = None

    async def place(self, database: Database, org_id: str, last_event_id: int | None) -> tuple[int, int]:
        """Behind what the client has seen, or behind all that was before it came; and the chain's end. Raises
        UnavailableError."""
        newest = await end_of_chain(database, org_id)
        return newest if last_event_id is None else min(last_event_id, newest), newest

    def feed(self, database: Database, org_id: str, seq: int) -> "Feed":
        return Feed(database, org_id, self, seq)

    async def missed(self, database: Database, org_id: str, seq: int, reached: int) -> tuple[int, Batch | None, bool]:
        """What is behind ``seq``, up to ``reached`` and further."""
        return await look(database, org_id, self, seq)


type AnyChannel = Channel | StateChannel
"""A channel of events of the audit log, or of states that it does not have."""


class Feed:
    """``seq``: what has been handed to the viewers."""

    def __init__(self, database: Database, org_id: str, channel: Channel, seq: int) -> None:
        self._database = database
        self._org_id = org_id
        self._channel = channel
        self.seq = seq
        self.viewers: set[Viewer] = set()

    async def poll(self) -> None:
        """Until nobody views it any more. Raises UnavailableError."""
        while self.viewers:
            seq, batch, is_more = await look(self._database, self._org_id, self._channel, self.seq)
            self.seq = seq
            if batch is not None:
                await hand_out(batch, list(self.viewers))
            if not is_more:
                await asyncio.sleep(_LOOK_SECONDS if batch is None else _LOOK_AFTER_EVENTS_SECONDS)


async def look(database: Database, org_id: str, channel: Channel, seq: int) -> tuple[int, Batch | None, bool]:
    """What is behind ``seq``: the place reached, the frames, and whether to look again at once. Raises
    UnavailableError."""
    await apply_before_reading(database, org_id)
    async with database.transaction(org_id) as connection:
        found = await events_after(connection, org_id, seq, channel.types, _EVENTS_AT_ONCE)
        if not found:
            return seq, None, False
        frames = list(await channel.frames(connection, org_id, found))
        reached, is_more = found[-1].seq, len(found) == _EVENTS_AT_ONCE
        if is_more and channel.skips_behind is not None and channel.skipped is not None:
            newest = await newest_seq(connection, org_id)
            if newest - reached > channel.skips_behind:
                frames.append(channel.skipped(newest))
                reached, is_more = newest, False
    return reached, batch_of(frames) if frames else None, is_more


class Feeds:
    """Those of this process."""

    def __init__(self, database: Database, tasks: TaskSet, places: Places | None = None) -> None:
        self._database = database
        self._tasks = tasks
        self.places = places or Places()
        self._open: dict[tuple[str, AnyChannel], Feed | StateFeed] = {}
        self._is_closed = False

    def close(self) -> None:
        """The process stops: streams without an end are told to end, which the drain would wait for in vain."""
        self._is_closed = True
        for feed in self._open.values():
            for viewer in feed.viewers:
                viewer.end("stopping")

    async def start(self, org_id: str, channel: AnyChannel, last_event_id: int | None) -> tuple[int, int]:
        """The viewer's place in the channel, and the channel's end. Raises UnavailableError."""
        if self._is_closed:
            raise UnavailableError("The API is shutting down. Try again.", retry_after_seconds=1)
        return await channel.place(self._database, org_id, last_event_id)

    @contextmanager
    def joined(self, org_id: str, channel: AnyChannel, viewer: Viewer, newest: int) -> Iterator[int]:
        """While the block runs the viewer is handed what comes; up to the place returned it reads by itself."""
        key = (org_id, channel)
        feed = self._open.get(key)
        if feed is None:
            feed = self._open[key] = channel.feed(self._database, org_id, newest)
            self._tasks.start(self._run(key, feed), name="live_feed")
        feed.viewers.add(viewer)
        if self._is_closed:
            viewer.end("stopping")
        try:
            yield feed.seq
        finally:
            feed.viewers.discard(viewer)

    async def catch_up(
        self, org_id: str, channel: AnyChannel, seq: int, reached: int
    ) -> tuple[int, Batch | None, bool]:
        return await channel.missed(self._database, org_id, seq, reached)

    async def _run(self, key: tuple[str, AnyChannel], feed: Feed | StateFeed) -> None:
        """However it ends, nobody waits for a poller that is not there."""
        reason = "failed"
        try:
            await feed.poll()
        except UnavailableError:
            reason = "unavailable"
        finally:
            del self._open[key]
            for viewer in feed.viewers:
                viewer.end(reason)
