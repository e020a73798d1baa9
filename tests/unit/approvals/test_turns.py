"""Of those who wait for an approval one proceeds at a time, and nothing is kept of them afterwards."""

import asyncio
from typing import cast

from headgate.approvals.wake_ups import Waiter, WakeUps
from headgate.db.database import Database

_APPROVAL = "apr_1"


async def test_one_at_a_time_in_the_order_of_arrival() -> None:
    wake_ups = WakeUps(cast("Database", None))  # nothing is polled
    order: list[int] = []

    async def proceed(number: int) -> None:
        async with wake_ups.turn(_APPROVAL):
            order.append(number)
            await asyncio.sleep(0)
            assert order[-1] == number, "somebody else proceeded meanwhile"

    await asyncio.gather(*(proceed(number) for number in range(5)))
    assert order == list(range(5))
    assert not wake_ups._turns


async def test_it_stays_the_same_turn_when_the_last_waiter_goes() -> None:
    """Each call is no waiter while it acts: two of them must not act at once."""
    wake_ups = WakeUps(cast("Database", None))
    inside = 0

    async def proceed() -> None:
        nonlocal inside
        async with wake_ups.turn(_APPROVAL):
            inside += 1
            waiter = Waiter()
            wake_ups.add(_APPROVAL, waiter)
            wake_ups.remove(_APPROVAL, waiter)
            await asyncio.sleep(0.01)
            assert inside == 1
            inside -= 1

    first = asyncio.create_task(proceed())
    await asyncio.sleep(0)
    await asyncio.gather(first, proceed(), proceed())
    assert not wake_ups._turns
    assert wake_ups.held == 0


async def test_one_that_is_cancelled_while_it_waits_leaves_the_turn_to_the_next() -> None:
    wake_ups = WakeUps(cast("Database", None))
    async with wake_ups.turn(_APPROVAL):
        gone = asyncio.create_task(_enter(wake_ups))
        stays = asyncio.create_task(_enter(wake_ups))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
    async with asyncio.timeout(1):
        await stays
    assert not wake_ups._turns


async def _enter(wake_ups: WakeUps) -> None:
    async with wake_ups.turn(_APPROVAL):
        pass
