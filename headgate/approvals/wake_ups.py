"""Held calls wait here; a decision on their approval wakes them.

A wake-up is a hint: whoever wakes reads the approval again. Hints come through Valkey at once and through a
poll of Postgres all the same, so that a message lost, or Valkey gone, costs half a second and nothing else.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
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
# A decision is dated before its transaction commits; looking back this far finds those that were slow to.
_OVERLAP: Final = timedelta(seconds=6)
_RECONNECT_SECONDS: Final = 1.0


class Waiter:
    """One held call. ``wait`` ends at a wake-up, when the client goes away, or at the deadline."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def wake(self) -> None:
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Returns at a wake-up or when the time is over; which of the two it was is read from the approval."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()


class WakeUps:
    """The waiters of this process by approval, in the order in which they came."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiters: dict[str, deque[Waiter]] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    @property
    def held(self) -> int:
        """Calls that are held now."""
        return sum(len(waiters) for waiters in self._waiters.values())

    @asynccontextmanager
    async def waiting(self, approval_id: str, waiter: Waiter) -> AsyncIterator[None]:
        """Registered for as long as the block runs."""
        self._waiters.setdefault(approval_id, deque()).append(waiter)
        try:
            yield
        finally:
            waiters = self._waiters[approval_id]
            waiters.remove(waiter)
            if not waiters:
                del self._waiters[approval_id]
                self._turns.pop(approval_id, None)

    def turn(self, approval_id: str) -> asyncio.Lock:
        """Taken by one waiter of an approval at a time, first come first: the first still connected uses it."""
        return self._turns.setdefault(approval_id, asyncio.Lock())

    def wake(self, approval_id: str) -> None:
        for waiter in self._waiters.get(approval_id, ()):
            waiter.wake()

    def wake_all(self) -> None:
        for approval_id in self._waiters:
            self.wake(approval_id)

    async def poll(self) -> None:
        """Ask Postgres for what was decided lately, for ever; after an outage, for all of its time."""
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
        """Wake at once what Valkey's messages name, for ever; without Valkey the poll does it."""
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
