"""How many places one receiver may take, and who waits for one."""

import asyncio

import pytest

from headgate.deliveries.turns import Turns


async def _taken(turns: Turns, target: str, times: int) -> list[bool]:
    return [await turns.take(target) for _ in range(times)]


async def test_a_receiver_takes_so_many_and_others_are_not_concerned() -> None:
    turns = Turns(2, patience_seconds=0.01)
    assert await _taken(turns, "a", 3) == [True, True, False]
    assert await turns.take("b")
    turns.give_back("a", succeeded=True)
    assert await turns.take("a")


async def test_one_that_fails_takes_one_until_it_succeeds() -> None:
    turns = Turns(2, patience_seconds=0.01)
    for _ in range(3):
        assert await turns.take("a")
        turns.give_back("a", succeeded=False)
    assert await _taken(turns, "a", 2) == [True, False]
    turns.give_back("a", succeeded=True)
    assert await _taken(turns, "a", 3) == [True, True, False]


async def test_who_waits_is_next_in_the_order_of_coming() -> None:
    turns, order = Turns(1, patience_seconds=60), []

    async def come(name: str) -> None:
        assert await turns.take("a")
        order.append(name)

    assert await turns.take("a")
    waiting = [asyncio.create_task(come(name)) for name in "xyz"]
    await asyncio.sleep(0)
    for place, task in enumerate(waiting):
        turns.give_back("a", succeeded=True)
        late = asyncio.create_task(turns.take("a"))
        await task
        assert not late.done()
        late.cancel()
        assert order == list("xyz")[: place + 1]
    turns.give_back("a", succeeded=True)
    assert await turns.take("a")


async def test_nobody_waits_for_one_that_fails() -> None:
    turns = Turns(1, patience_seconds=60)
    for _ in range(3):
        assert await turns.take("a")
        turns.give_back("a", succeeded=False)
    assert await turns.take("a")
    assert not await turns.take("a")


async def test_a_turn_that_was_handed_to_one_who_has_just_gone_is_not_lost() -> None:
    turns = Turns(1, patience_seconds=60)
    assert await turns.take("a")
    gone = asyncio.create_task(turns.take("a"))
    await asyncio.sleep(0)
    turns.give_back("a", succeeded=True)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await turns.take("a")
