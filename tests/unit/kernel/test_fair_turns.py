"""Whose turn it is: organizations first, agents within them, by the time that each was served."""

import asyncio
import gc
import threading

import pytest

from headgate.kernel import fair_turns
from headgate.kernel.errors import UnavailableError
from headgate.kernel.fair_turns import FairTurns


class Work:
    """Takes turns and keeps the order; ``seconds`` is what a turn costs on a clock that only turns move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, places: int = 1, wait_seconds: float = 60.0) -> None:
        self.now = 0.0
        self.order: list[str] = []
        self.turns = FairTurns(places, "a test", wait_seconds=wait_seconds)
        monkeypatch.setattr(fair_turns, "perf_counter", lambda: self.now)

    async def take(self, org_id: str, agent_id: str, seconds: float = 1.0) -> None:
        async with self.turns.turn(org_id, agent_id):
            self.order.append(f"{org_id}{agent_id}")
            self.now += seconds
            await asyncio.sleep(0)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    return Work(monkeypatch)


async def test_one_organization_with_many_calls_waits_behind_another_with_one(work: Work) -> None:
    await asyncio.gather(*(work.take("o", "a") for _ in range(20)), work.take("p", "b"))
    assert work.order.index("pb") == 1


async def test_one_agent_with_many_calls_waits_behind_another_of_its_organization(work: Work) -> None:
    await asyncio.gather(*(work.take("o", "a") for _ in range(20)), work.take("o", "b"))
    assert work.order.index("ob") == 1


async def test_slow_turns_weigh_more_than_fast_ones(work: Work) -> None:
    slow = [work.take("o", "a", 10.0) for _ in range(10)]
    fast = [work.take("p", "b", 1.0) for _ in range(10)]
    await asyncio.gather(*slow, *fast)
    assert work.order.index("oa", 1) > work.order.index("pb") + 8, "ten fast turns fit beside one slow one"


async def test_whoever_was_idle_gains_no_credit(work: Work) -> None:
    for _ in range(50):
        await work.take("o", "a")
    await asyncio.gather(*(work.take("o", "a") for _ in range(4)), *(work.take("p", "b") for _ in range(40)))
    assert work.order[50:].index("oa", 1) <= 4, "the newcomer does not get fifty turns in a row"


async def test_places_are_bounded_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch, places=2)
    at_once = most = 0

    async def watched(number: int) -> None:
        nonlocal at_once, most
        async with work.turns.turn("o", str(number)):
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0)
            at_once -= 1

    await asyncio.gather(*(watched(number) for number in range(20)))
    await asyncio.gather(*(watched(number) for number in range(20)))
    assert (most, work.turns.waiting) == (2, 0)


async def test_too_many_that_wait_are_refused(work: Work) -> None:
    results = await asyncio.gather(
        *(work.take("o", "a") for _ in range(fair_turns.WAITING_OF_AGENT_MAX + 3)), return_exceptions=True
    )
    refused = [one for one in results if isinstance(one, UnavailableError)]
    assert len(refused) == 2
    assert refused[0].message == "too many calls wait for a test: send it again"
    assert len(work.order) == fair_turns.WAITING_OF_AGENT_MAX + 1


async def test_many_agents_do_not_wait_beyond_their_organizations_bound(work: Work) -> None:
    many = fair_turns.WAITING_OF_ORGANIZATION_MAX + 3
    results = await asyncio.gather(*(work.take("o", str(number)) for number in range(many)), return_exceptions=True)
    assert [type(one) for one in results if one is not None] == [UnavailableError] * 2
    assert len(work.order) == many - 2
    assert work.turns.waiting == 0


async def test_waiting_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch, wait_seconds=0.01)
    async with work.turns.turn("o", "a"):
        with pytest.raises(UnavailableError, match=r"waited 0\.01 s for a test"):
            await work.take("o", "b")
    assert work.turns.waiting == 0
    await work.take("o", "b")


async def test_a_call_that_is_cancelled_passes_its_place_on(work: Work) -> None:
    async with work.turns.turn("o", "a"):
        leaves = asyncio.ensure_future(work.take("o", "b"))
        stays = asyncio.ensure_future(work.take("o", "c"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    leaves.cancel()  # its turn has just come
    await asyncio.gather(leaves, stays, return_exceptions=True)
    assert work.order == ["oc"]
    await work.take("o", "b")


async def test_a_place_that_is_handed_to_whoever_has_just_given_up_goes_on(work: Work) -> None:
    """A time-out and the end of a turn in one turn of the loop: the place was lost for ever."""
    given_up = None
    async with work.turns.turn("o", "a"):
        given_up = asyncio.create_task(work.take("o", "b"))
        behind = asyncio.create_task(work.take("p", "c"))
        await asyncio.sleep(0)
        given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    await behind
    async with asyncio.timeout(5), work.turns.turn("p", "d"):
        pass
    assert work.order == ["pc"]


async def test_whoever_gives_up_keeps_the_place_until_the_thread_has_ended(work: Work) -> None:
    """Otherwise callers that time out have as many threads at work as the process allows."""
    began, may_end = threading.Event(), threading.Event()

    def long_work() -> None:
        began.set()
        may_end.wait(30)

    async def impatient() -> None:
        async with work.turns.turn("o", "a") as turn:
            await turn.in_thread(long_work)

    caller = asyncio.ensure_future(impatient())
    await asyncio.to_thread(began.wait, 30)
    work.now += 7
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    waits, other = asyncio.ensure_future(work.take("o", "a")), asyncio.ensure_future(work.take("p", "b"))
    await asyncio.sleep(0.05)
    assert (work.order, work.turns.waiting) == ([], 2)
    may_end.set()
    async with asyncio.timeout(30):
        await asyncio.gather(waits, other)
    assert work.order == ["pb", "oa"]  # what the thread took is charged


async def test_the_error_of_an_abandoned_thread_is_not_logged(work: Work, caplog: pytest.LogCaptureFixture) -> None:
    """It may hold what an agent sent."""
    may_end = threading.Event()

    def fails() -> None:
        may_end.wait(30)
        raise ValueError("what an agent sent")

    async def impatient() -> None:
        async with work.turns.turn("o", "a") as turn:
            await turn.in_thread(fails)

    caller = asyncio.ensure_future(impatient())
    await asyncio.sleep(0.05)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    may_end.set()
    async with asyncio.timeout(30):
        await work.take("o", "a")
    gc.collect()
    assert caplog.messages == []


async def test_each_place_has_one_thread() -> None:
    """An executor with more threads starts them all in time: work comes before the thread of the last has gone idle."""
    threads: set[int] = set()
    turns = FairTurns(2, "a test")

    async def take(agent_id: str) -> None:
        for _ in range(300):
            async with turns.turn("o", agent_id) as turn:
                await turn.in_thread(lambda: threads.add(threading.get_ident()))

    await asyncio.gather(*(take(str(number)) for number in range(4)))
    turns.close()
    assert 1 <= len(threads) <= 2
