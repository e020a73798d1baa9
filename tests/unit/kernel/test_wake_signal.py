"""A signal wakes those who wait at that moment, and nobody else."""

import asyncio

from headgate.kernel.wake_signal import WakeSignal


async def _waiting(signal: WakeSignal, count: int) -> list["asyncio.Task[None]"]:
    tasks = [asyncio.create_task(signal.wait()) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_all_who_wait_are_woken() -> None:
    signal = WakeSignal()
    tasks = await _waiting(signal, 3)
    assert not any(task.done() for task in tasks)
    signal.wake()
    async with asyncio.timeout(1):
        await asyncio.gather(*tasks)


async def test_who_comes_later_waits_for_the_next() -> None:
    signal = WakeSignal()
    signal.wake()
    (late,) = await _waiting(signal, 1)
    assert not late.done()
    signal.wake()
    async with asyncio.timeout(1):
        await late


async def test_who_has_gone_is_forgotten_and_the_others_are_woken() -> None:
    signal = WakeSignal()
    gone, stays = await _waiting(signal, 2)
    gone.cancel()
    await asyncio.wait([gone])
    assert len(signal._waiting) == 1
    signal.wake()
    async with asyncio.timeout(1):
        await stays


async def test_who_is_cancelled_as_it_is_woken_ends_cancelled() -> None:
    signal = WakeSignal()
    both, other = await _waiting(signal, 2)
    both.cancel()
    signal.wake()
    async with asyncio.timeout(1):
        await other
        await asyncio.wait([both])
    assert both.cancelled()
