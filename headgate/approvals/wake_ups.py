"""Held calls wait here; a decision on their approval wakes them.

A wake-up is a hint: the woken call reads the approval again. Hints arrive through Valkey at once, and through a poll of
Postgres. A lost message or a Valkey outage therefore costs half a second and nothing else.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from headgate.approvals.gate_store import decided_within
from headgate.db.database import Database
from headgate.kernel.errors import UnavailableError

_log = structlog.get_logger(__name__)

CHANNEL: Final = "headgate.approvals"
_POLL_SECONDS: Final = 0.5
# A decision is dated before its transaction commits; this overlap finds decisions that committed late.
_OVERLAP: Final = timedelta(seconds=6)
_RECONNECT_SECONDS: Final = 1.0


class Waiter:
    """One held call. ``wait`` ends at a wake-up, when the client goes away, or at the deadline."""

    __slots__ = ("_end", "_is_woken")

    def __init__(self) -> None:
        self._is_woken = False
        self._end: asyncio.Future[None] | None = None

    def wake(self) -> None:
        self._is_woken = True
        if self._end is not None and not self._end.done():
            self._end.set_result(None)

    async def wait(self, seconds: float) -> None:
        """Returns at a wake-up, also one before the wait, or at the deadline; the caller reads the approval to learn
        which."""
        if not self._is_woken:
            loop = asyncio.get_running_loop()
            self._end = loop.create_future()
            deadline = loop.call_later(seconds, self.wake)
            try:
                await self._end
            finally:
                deadline.cancel()
                self._end = None
        self._is_woken = False


class _Turn:
    """``takers``: who has it or waits for it."""

    __slots__ = ("lock", "takers")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.takers = 0


class WakeUps:
    """The waiters of this process by approval, in order of arrival."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiters: dict[str, list[Waiter]] = {}
        self._turns: dict[str, _Turn] = {}

    @property
    def held(self) -> int:
        """The number of calls held now."""
        return sum(len(waiters) for waiters in self._waiters.values())

    def add(self, approval_id: str, waiter: Waiter) -> None:
        """The waiter is woken with the approval, until ``remove``."""
        self._waiters.setdefault(approval_id, []).append(waiter)

    def remove(self, approval_id: str, waiter: Waiter) -> None:
        waiters = self._waiters[approval_id]
        waiters.remove(waiter)
        if not waiters:
            del self._waiters[approval_id]

    @asynccontextmanager
    async def turn(self, approval_id: str) -> AsyncIterator[None]:
        """Lets one waiter of an approval proceed at a time, in order of arrival: the first that is still connected
        uses it."""
        turn = self._turns.setdefault(approval_id, _Turn())
        turn.takers += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.takers -= 1
            if not turn.takers:
                del self._turns[approval_id]

    def wake(self, approval_id: str) -> None:
        for waiter in self._waiters.get(approval_id, ()):
            waiter.wake()

    def wake_all(self) -> None:
        for approval_id in self._waiters:
            self.wake(approval_id)

    async def poll(self) -> None:
        """Polls Postgres for recent decisions, without end; after an outage, for decisions since the outage began."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            asked_at = loop.time()
            if self._waiters:
                try:
                    await self._wake_decided(timedelta(seconds=asked_at - last) + _OVERLAP)
                except UnavailableError:
                    continue
            last = asked_at

    async def _wake_decided(self, back: timedelta) -> None:
        async with self._database.across_organizations() as connection:
            decided = await decided_within(connection, back)
        for approval_id in decided:
            self.wake(approval_id)

    async def listen(self, valkey: Redis) -> None:
        """Wakes the calls that Valkey's messages name, without end; without Valkey the poll does it."""
        while True:
            try:
                async with valkey.pubsub() as subscription:
                    await subscription.subscribe(CHANNEL)
                    async for message in subscription.listen():
                        if message["type"] == "message":
                            self.wake(message["data"].decode(errors="replace"))
            except (RedisError, OSError) as error:
                _log.warning("wake_up_channel_lost", error=str(error))
            await asyncio.sleep(_RECONNECT_SECONDS)
