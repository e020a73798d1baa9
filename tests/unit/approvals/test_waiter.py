"""A held call's wait ends at a wake-up, also at one that came before it, or at its deadline."""

import asyncio

import pytest

from headgate.approvals.wake_ups import Waiter


async def test_a_wake_up_ends_it() -> None:
    waiter = Waiter()
    waiting = asyncio.create_task(waiter.wait(60))
    await asyncio.sleep(0)
    assert not waiting.done()
    waiter.wake()
    waiter.wake()
    async with asyncio.timeout(1):
        await waiting


async def test_one_before_the_wait_ends_it_and_only_it() -> None:
    waiter = Waiter()
    waiter.wake()
    async with asyncio.timeout(1):
        await waiter.wait(60)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await waiter.wait(60)


async def test_the_deadline_ends_it_and_leaves_no_wake_up_behind() -> None:
    waiter = Waiter()
    async with asyncio.timeout(1):
        await waiter.wait(0.01)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await waiter.wait(60)


async def test_one_that_was_cancelled_waits_again() -> None:
    waiter = Waiter()
    waiting = asyncio.create_task(waiter.wait(60))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    again = asyncio.create_task(waiter.wait(60))
    await asyncio.sleep(0)
    waiter.wake()
    async with asyncio.timeout(1):
        await again
