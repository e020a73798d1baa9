"""Pauses, survival of errors, and the orderly end of the worker's loops."""

import asyncio

import pytest

from headgate.kernel.errors import UnavailableError
from headgate.worker.loop import Loop, keep_running, next_pause


async def _nothing() -> int:
    return 0


_LOOP = Loop("seal", _nothing, busy_seconds=0.02, idle_seconds=1.0, error_seconds=2.0)


@pytest.mark.parametrize(
    ("pause", "done", "following"),
    [
        (0.02, 5, 0.02),
        (1.0, 1, 0.02),
        (0.02, 0, 0.04),
        (0.64, 0, 1.0),
        (1.0, 0, 1.0),
        (0.02, None, 0.04),
        (1.5, None, 2.0),
    ],
)
def test_pauses(pause: float, done: int | None, following: float) -> None:
    assert next_pause(_LOOP, pause, done) == pytest.approx(following)


@pytest.mark.parametrize("failure", [UnavailableError("the database is away"), RuntimeError("a bug"), KeyError("x")])
async def test_a_loop_survives_what_its_body_raises(failure: Exception) -> None:
    stop, rounds = asyncio.Event(), 0

    async def body() -> int:
        nonlocal rounds
        rounds += 1
        if rounds == 3:
            stop.set()
            return 1
        raise failure

    await asyncio.wait_for(keep_running(Loop("x", body, 0.001, 0.001, 0.001), stop), 30)
    assert rounds == 3


async def test_a_round_that_is_under_way_is_finished_before_the_end() -> None:
    stop, finished = asyncio.Event(), False

    async def body() -> int:
        nonlocal finished
        stop.set()
        await asyncio.sleep(0.01)
        finished = True
        return 0

    await asyncio.wait_for(keep_running(Loop("x", body, 10, 10), stop), 30)
    assert finished


async def test_a_loop_that_is_woken_runs_before_its_pause_is_over() -> None:
    stop, wake, rounds = asyncio.Event(), asyncio.Event(), 0

    async def body() -> int:
        nonlocal rounds
        rounds += 1
        if rounds == 3:
            stop.set()
        return 0

    running = asyncio.create_task(keep_running(Loop("x", body, 0.01, 3600, wake=wake), stop))
    while not stop.is_set():
        await asyncio.sleep(0.02)
        wake.set()
    await asyncio.wait_for(running, 30)
    assert rounds == 3


async def test_what_is_said_during_a_round_is_looked_at_by_another() -> None:
    stop, wake, rounds = asyncio.Event(), asyncio.Event(), 0

    async def body() -> int:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            wake.set()
        else:
            stop.set()
        return 0

    await asyncio.wait_for(keep_running(Loop("x", body, 0.01, 3600, wake=wake), stop), 30)
    assert rounds == 2


async def test_a_loop_that_fails_is_not_woken_before_its_pause_is_over() -> None:
    stop, wake, rounds = asyncio.Event(), asyncio.Event(), 0

    async def body() -> int:
        nonlocal rounds
        rounds += 1
        wake.set()
        raise UnavailableError("the database is away")

    running = asyncio.create_task(keep_running(Loop("x", body, 3600, 3600, 3600, wake), stop))
    await asyncio.sleep(0.05)
    assert rounds == 1
    stop.set()
    await asyncio.wait_for(running, 30)
