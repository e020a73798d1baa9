"""One attempt at a delivery: written down before it is made, and how it went after it.

At least once: a worker that is killed in between leaves an attempt that says so, and the job is run again.
"""

import random
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct, field

from headgate.db.database import Connection, Database
from headgate.deliveries.model import Delivery, DeliveryStatus, SendResult, TargetKind
from headgate.deliveries.schedule import next_attempt_at
from headgate.deliveries.store import (
    begin_attempt,
    end_delivery,
    finish_attempt,
    get_delivery,
    plan_attempt,
)
from headgate.deliveries.turns import Turns
from headgate.kernel.clock import Clock
from headgate.kernel.errors import NotFoundError
from headgate.queue.model import JobReference, RetryLater

_MOST_ATTEMPTS: Final = 100
"""Far more than fit into a delivery's time: who comes here ended its workers again and again."""
_LEAST_WAIT_SECONDS: Final = 1.0
_MOST_WAIT_SECONDS: Final = 4.0

type Send = Callable[[], Awaitable[SendResult]]
type Prepare = Callable[[Connection, Delivery], Awaitable[Send | None]]
"""Reads what sending needs; None: the target is no more, or wants nothing."""
type Conclude = Callable[[Connection, Delivery, SendResult, DeliveryStatus | None], Awaitable[None]]
"""Takes part in the transaction that ends the attempt; the status is None where it will be tried again."""


class Deliver(Struct, frozen=True):
    """``prepare`` and ``conclude`` are the target's; the order of things is the same for all. ``turns``: how many of
    this process' places one target may take; the queue bounds those of an organization (``headgate.queue.shares``)."""

    database: Database
    clock: Clock
    kind: TargetKind
    prepare: Prepare
    conclude: Conclude
    chance: Callable[[], float] = random.random
    turns: Turns = field(default_factory=lambda: Turns(8))

    async def run(self, job: JobReference) -> None:
        """Raises RetryLater where it is to be tried again, UnavailableError."""
        target = await self._target(job)
        if target is None:
            return
        if not await self.turns.take(target):
            raise RetryLater("the receiver's delivery slots are in use", after_seconds=self._wait_seconds())
        succeeded = False
        try:
            succeeded = await self._attempt(job)
        finally:
            self.turns.give_back(target, succeeded=succeeded)

    def _wait_seconds(self) -> float:
        return _LEAST_WAIT_SECONDS + self.chance() * (_MOST_WAIT_SECONDS - _LEAST_WAIT_SECONDS)

    async def _attempt(self, job: JobReference) -> bool:
        begun = await self._begin(job)
        if begun is None:
            return True
        delivery, attempt, send = begun
        result = await send()
        now = self.clock()
        again = None
        if not result.succeeded and not result.is_final:
            again = next_attempt_at(
                attempt,
                now,
                delivery.give_up_at,
                chance=self.chance(),
                retry_after_seconds=result.retry_after_seconds,
            )
        status = None if again else DeliveryStatus.DELIVERED if result.succeeded else DeliveryStatus.PARKED
        async with self.database.transaction(job.org_id) as connection:
            # The target's row first, as whoever changes the target locks it before its deliveries.
            await self.conclude(connection, delivery, result, status)
            await finish_attempt(connection, delivery, attempt, result, now)
            if again is not None:
                await plan_attempt(connection, delivery, again)
            elif status is not None:
                await end_delivery(connection, delivery, status, now, result.reference)
        if again is not None:
            raise RetryLater(result.failure or "failed", after_seconds=(again - now).total_seconds())
        return result.succeeded

    async def _target(self, job: JobReference) -> str | None:
        """Whose delivery it is, where it is still to be made."""
        async with self.database.transaction(job.org_id) as connection:
            try:
                delivery = await get_delivery(connection, job.org_id, self.kind, job.subject_id)
            except NotFoundError:
                return None
            return f"{job.org_id} {delivery.target_id}" if delivery.status is DeliveryStatus.PENDING else None

    async def park(self, job: JobReference, reason: str) -> None:
        """The queue gives the job up: it ended its workers again and again."""
        async with self.database.transaction(job.org_id) as connection:
            delivery = await get_delivery(connection, job.org_id, self.kind, job.subject_id, lock=True)
            await end_delivery(connection, delivery, DeliveryStatus.PARKED, self.clock())

    async def _begin(self, job: JobReference) -> tuple[Delivery, int, Send] | None:
        now = self.clock()
        async with self.database.transaction(job.org_id) as connection:
            try:
                delivery = await get_delivery(connection, job.org_id, self.kind, job.subject_id, lock=True)
            except NotFoundError:
                return None
            if delivery.status is not DeliveryStatus.PENDING:
                return None
            if delivery.attempts >= _MOST_ATTEMPTS:
                await end_delivery(connection, delivery, DeliveryStatus.PARKED, now)
                return None
            send = await self.prepare(connection, delivery)
            if send is None:
                await end_delivery(connection, delivery, DeliveryStatus.CANCELLED, now)
                return None
            return delivery, await begin_attempt(connection, delivery, now), send
