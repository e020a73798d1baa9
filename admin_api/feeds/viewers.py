"""Viewers of live feeds: how many there may be, and the bounded queue of each."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from admin_api.feeds.frames import Batch
from headgate.kernel.errors import RateLimitedError

_VIEWERS_MAX: Final = 1_000
_VIEWERS_OF_ONE_ORGANIZATION_MAX: Final = 600
_BATCHES_MAX: Final = 16
_LEAVE_SECONDS: Final = 5.0
_RETRY_AFTER_SECONDS: Final = 10


class Viewer:
    """One open stream. ``queue`` holds batches that all viewers share; a viewer that does not read them in time loses
    its place. ``agent_id``: it sees the calls of this agent only."""

    def __init__(self, seq: int, agent_id: str | None) -> None:
        self.seq = seq
        self.agent_id = agent_id
        self.ended: str | None = None
        self.time_limit: asyncio.Timeout | None = None
        self._queue: deque[Batch] = deque()
        self._event = asyncio.Event()

    def put(self, batch: Batch) -> None:
        if len(self._queue) >= _BATCHES_MAX:
            self.end("slow")
        elif self.ended is None:
            self._queue.append(batch)
            self._event.set()

    def end(self, reason: str) -> None:
        """What waits in the queue is dropped: the client comes back to its place. A client that reads nothing at all is
        cut off some seconds later."""
        if self.ended is not None:
            return
        self.ended = reason
        self._queue.clear()
        self._event.set()
        if self.time_limit is not None:
            self.time_limit.reschedule(asyncio.get_running_loop().time() + _LEAVE_SECONDS)

    async def next(self, seconds: float) -> bytes:
        """What the viewer has not seen yet; empty: nothing came within ``seconds``, or the stream has ended."""
        if not self._queue and self.ended is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._event.wait()
        self._event.clear()
        found = b""
        while self._queue:
            batch = self._queue.popleft()
            found += batch.after(self.seq, self.agent_id)
            self.seq = max(self.seq, batch.frames[-1].seq)
        return found


class Places:
    """How many streams are open in this process, and how many of them each organization has."""

    def __init__(self, most: int = _VIEWERS_MAX, most_of_one: int = _VIEWERS_OF_ONE_ORGANIZATION_MAX) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._open: Counter[str] = Counter()

    @contextmanager
    def one_more(self, org_id: str) -> Iterator[None]:
        """For as long as the block runs."""
        self._open[org_id] += 1
        try:
            yield
        finally:
            self._open[org_id] -= 1
            if not self._open[org_id]:
                del self._open[org_id]

    def check(self, org_id: str) -> None:
        """Raises RateLimitedError."""
        if self._open.total() >= self._most or self._open[org_id] >= self._most_of_one:
            raise RateLimitedError(
                "Too many event streams are open. Close some, or poll with ?wait= instead.",
                details={"streams": self._open[org_id]},
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
