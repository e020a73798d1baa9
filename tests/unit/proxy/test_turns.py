"""The time of the event loop goes round: a party that has used its slice waits, and alone it has all of it."""

import asyncio

import pytest

from addons.share import ORGANIZATION_SLICE_SECONDS, SLICE_SECONDS, Share
from proxy import turns as turns_module
from proxy.turns import ALONE_AFTER_SECONDS, ALONE_SLICES, Timed, Turns

_WORK_SECONDS = 0.0008


async def one_piece(turns: Turns, share: Share) -> None:
    """As if it had taken so long."""
    if turns.must_wait(share):
        await turns.wait(share)
    turns.charge(share, _WORK_SECONDS)


async def test_a_crowd_of_one_party_does_not_delay_another() -> None:
    turns = Turns()
    crowd, other = Share("crowd"), Share("other")
    working = [asyncio.ensure_future(one_piece(turns, crowd)) for _ in range(300)]
    done_before = 0
    for _ in range(20):
        await asyncio.sleep(0)
        await one_piece(turns, other)
        done = sum(one.done() for one in working)
        # Its slice, and the piece that passes its end.
        assert done - done_before <= SLICE_SECONDS / _WORK_SECONDS + 1
        done_before = done
    assert 0 < done_before < len(working)
    async with asyncio.timeout(20):
        await asyncio.gather(*working)


async def test_alone_a_party_has_all_the_time() -> None:
    """Few rounds of the loop for each slice."""
    turns, share = Turns(), Share("alone")
    working = asyncio.gather(*(one_piece(turns, share) for _ in range(300)))
    rounds = 0
    while not working.done():
        await asyncio.sleep(0)
        rounds += 1
    assert rounds < 3 * 300 * _WORK_SECONDS / SLICE_SECONDS


async def test_alone_a_party_waits_for_nobody_until_another_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(turns_module, "perf_counter", lambda: now[0])
    organization = Share("org", None, ORGANIZATION_SLICE_SECONDS)
    turns, share, other = Turns(), Share("alone", organization), Share("other")
    turns.charge(share, SLICE_SECONDS)
    assert turns.must_wait(share)
    now[0] = 2 * ALONE_AFTER_SECONDS
    assert not turns.must_wait(share)
    turns.charge(share, SLICE_SECONDS * (ALONE_SLICES - 1))
    assert turns.must_wait(share), "whoever comes next waits so long for the first of its turns"
    await asyncio.sleep(0)
    turns.charge(share, SLICE_SECONDS)
    assert not turns.must_wait(share)
    turns.charge(other, 0.0001)
    assert turns.must_wait(share)


async def test_of_those_that_wait_as_many_are_woken_as_have_room() -> None:
    """A slow machine, whose pieces take a slice each: those that were woken for nothing took a tenth of it."""
    turns, share, other = Turns(), Share("one"), Share("other")
    woken = 0

    async def piece() -> None:
        nonlocal woken
        if turns.must_wait(share):
            await turns.wait(share)
        woken += 1
        turns.charge(share, SLICE_SECONDS)
        turns.charge(other, 0.0)

    real = turns._is_used_up
    asked = 0

    def counted(whose: Share) -> bool:
        nonlocal asked
        asked += 1
        return real(whose)

    turns._is_used_up = counted  # type: ignore[method-assign] # to count
    await asyncio.gather(*(piece() for _ in range(100)))
    assert woken == 100
    assert asked < 350, "once when it comes, and few times when it is woken"


async def test_those_that_wait_go_in_order() -> None:
    turns, share = Turns(), Share("one")
    order: list[int] = []

    async def piece(number: int) -> None:
        await one_piece(turns, share)
        order.append(number)

    await asyncio.gather(*(piece(number) for number in range(100)))
    assert order == sorted(order)


async def test_agents_of_one_organization_have_one_slice_together() -> None:
    turns = Turns()
    organization = Share("org", None, ORGANIZATION_SLICE_SECONDS)
    agents = [Share(f"agent {number}", organization) for number in range(20)]
    for agent in agents[:3]:
        turns.charge(agent, ORGANIZATION_SLICE_SECONDS * 0.4)
    assert turns.must_wait(agents[10])
    assert not turns.must_wait(Share("another organization's"))
    # And each of them has its turn.
    done = [asyncio.ensure_future(one_piece(turns, agent)) for agent in agents * 5]
    async with asyncio.timeout(20):
        await asyncio.gather(*done)


async def test_what_stops_waiting_is_passed_over() -> None:
    turns, share = Turns(), Share("one")
    turns.charge(share, 0.006)
    waiting = [asyncio.ensure_future(turns.wait(share)) for _ in range(50)]
    await asyncio.sleep(0)
    for one in waiting[:-1]:
        one.cancel()
    async with asyncio.timeout(5):
        await waiting[-1]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not turns.must_wait(share)


async def test_steps_of_a_coroutine_are_charged_without_what_it_waits_for() -> None:
    turns, share = Turns(), Share("one")
    charged: list[float] = []
    turns.charge = lambda whose, seconds: charged.append(seconds)  # type: ignore[method-assign] # to see each

    async def steps() -> str:
        await asyncio.sleep(0.05)
        return "done"

    assert await Timed(steps(), turns, share) == "done"
    assert len(charged) == 2
    assert sum(charged) < 0.04


async def test_a_timed_coroutine_is_cancelled_and_fails_as_itself() -> None:
    turns, share = Turns(), Share("one")
    seen: list[str] = []

    async def cancelled() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    task = asyncio.ensure_future(_in_task(Timed(cancelled(), turns, share)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]

    async def failing() -> None:
        await asyncio.sleep(0)
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        await Timed(failing(), turns, share)


async def _in_task(timed: Timed[None]) -> None:
    await timed
