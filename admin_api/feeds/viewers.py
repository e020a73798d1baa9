"""Viewers of live feeds: how many there may be, and the bounded queue of each."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from admin_api.feeds.frames import Batch
from headgate.kernel.errors import HeadgateError, RateLimitedError, UnavailableError

VIEWERS_MAX: Final = 1_000
VIEWERS_OF_ORGANIZATION_MAX: Final = 600
VIEWERS_OF_PERSON_MAX: Final = 32
"""Where nothing else is configured (HEADGATE_EVENT_STREAMS_PER_PERSON)."""
_BATCHES_MAX: Final = 16
QUEUED_BYTES_MAX: Final = 4 << 20
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
        self._queued_bytes = 0
        self._event = asyncio.Event()

    def put(self, batch: Batch) -> None:
        """A queue without batches takes one of any size, or a reader in time could lose its place."""
        size = len(batch.joined)
        if len(self._queue) >= _BATCHES_MAX or (self._queue and self._queued_bytes + size > QUEUED_BYTES_MAX):
            self.end("slow")
        elif self.ended is None:
            self._queue.append(batch)
            self._queued_bytes += size
            self._event.set()

    def end(self, reason: str) -> None:
        """What waits in the queue is dropped: the client comes back to its place. A client that reads nothing at all is
        cut off some seconds later."""
        if self.ended is not None:
            return
        self.ended = reason
        self._queue.clear()
        self._queued_bytes = 0
        self._event.set()
        if self.time_limit is not None:
            self.time_limit.reschedule(asyncio.get_running_loop().time() + _LEAVE_SECONDS)

    async def next(self, seconds: float) -> bytes:
        """What the viewer has not seen yet of the next batch; empty: nothing of it, nothing came within ``seconds``, or
        the stream has ended."""
        if not self._queue and self.ended is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._event.wait()
        self._event.clear()
        if not self._queue:
            return b""
        batch = self._queue.popleft()
        self._queued_bytes -= len(batch.joined)
        found = batch.after(self.seq, self.agent_id)
        self.seq = max(self.seq, batch.frames[-1].seq)
        return found


class Places:
    """How many streams are open in this process, and how many of them each organization and each of its people has. An
    agent counts for itself, a key of a person for the person."""

    def __init__(
        self,
        most: int = VIEWERS_MAX,
        most_of_organization: int = VIEWERS_OF_ORGANIZATION_MAX,
        most_of_person: int = VIEWERS_OF_PERSON_MAX,
    ) -> None:
        self._most = most
        self._most_of_organization = most_of_organization
        self._most_of_person = most_of_person
        self._open: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def one_more(self, org_id: str, person: str) -> Iterator[None]:
        """For as long as the block runs."""
        who = (org_id, person)
        self._open[who] += 1
        try:
            yield
        finally:
            self._open[who] -= 1
            if not self._open[who]:
                del self._open[who]

    def check(self, org_id: str, person: str) -> None:
        """Raises RateLimitedError, and UnavailableError where others have the places."""
        if self._open[org_id, person] >= self._most_of_person:
            raise _too_many(RateLimitedError, "You have", self._most_of_person)
        of_organization = sum(count for (one, _), count in self._open.items() if one == org_id)
        if of_organization >= self._most_of_organization:
            raise _too_many(RateLimitedError, "Your organization has", self._most_of_organization)
        if self._open.total() >= self._most:
            raise _too_many(UnavailableError, "This process has", self._most)


def _too_many(kind: type[HeadgateError], whose: str, most: int) -> HeadgateError:
    return kind(
        f"{whose} {most} event streams open, the maximum. Close some, or poll with ?wait= instead.",
        details={"max_streams": most},
        retry_after_seconds=_RETRY_AFTER_SECONDS,
    )
