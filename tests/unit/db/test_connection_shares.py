"""Shares of connections: what one party may have, who is next, and what is kept for stops."""

import asyncio
from contextlib import AsyncExitStack, nullcontext

import pytest

from headgate.db.connection_shares import NO_ORGANIZATION, ConnectionShares, may_take, urgent
from headgate.kernel.errors import UnavailableError


@pytest.mark.parametrize(
    ("places", "mine", "others", "is_shared", "may"),
    [
        (8, 7, 0, False, True),
        (8, 8, 0, False, False),
        (8, 5, 0, True, True),
        (8, 6, 0, True, False),
        (8, 0, 6, True, True),
        (8, 1, 6, True, False),
        (8, 0, 7, True, True),
        (8, 0, 8, True, False),
        (2, 0, 1, True, True),
        (2, 1, 0, True, False),
    ],
)
def test_what_a_party_may_have(places, mine, others, is_shared, may) -> None:
    assert may_take(places, mine, others, is_shared=is_shared) is may


class Callers:
    """Callers that keep their place until they are told to leave."""

    def __init__(self, shares: ConnectionShares) -> None:
        self.shares = shares
        self.served: list[str] = []
        self._leave: dict[str, list[asyncio.Event]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def come(self, *parties: str, is_urgent: bool = False) -> None:
        for party in parties:
            self._tasks.append(asyncio.create_task(self._call(party, is_urgent)))
            await asyncio.sleep(0)

    async def _call(self, party: str, is_urgent: bool) -> None:
        leave = asyncio.Event()
        with urgent() if is_urgent else nullcontext():
            async with self.shares.place(party):
                self.served.append(party)
                self._leave.setdefault(party, []).append(leave)
                await leave.wait()

    async def leave(self, party: str) -> None:
        self._leave[party].pop(0).set()
        for _ in range(4):
            await asyncio.sleep(0)

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@pytest.fixture
async def callers():
    made = Callers(ConnectionShares(10, reserved=2, wait_seconds=60))
    yield made
    await made.end()
    assert made.shares.waiting == 0


async def test_one_organization_alone_has_all_but_the_reserved(callers) -> None:
    await callers.come(*["a"] * 9)
    assert (callers.served, callers.shares.waiting) == (["a"] * 8, 1)


async def test_beside_others_it_has_three_quarters(callers) -> None:
    await callers.come("b")
    await callers.leave("b")
    await callers.come(*["a"] * 9, "b", NO_ORGANIZATION)
    assert callers.served == ["b", *["a"] * 6, "b", NO_ORGANIZATION]
    assert callers.shares.waiting == 3


async def test_a_stop_finds_a_connection_while_all_others_are_taken(callers) -> None:
    await callers.come(*["a"] * 9)
    await callers.come("b", is_urgent=True)
    await callers.come("a", is_urgent=True)
    assert callers.served[-2:] == ["b", "a"]


async def test_who_has_waited_for_its_turn_comes_before_who_has_more_waiting(callers) -> None:
    await callers.come(*["a"] * 8)
    await callers.come("a", "a", "b", "c", "c")
    for served in (["b"], ["b", "c"], ["b", "c"], ["b", "c", "c"]):
        await callers.leave("a")
        assert callers.served[8:] == served


async def test_what_is_urgent_is_served_before_what_is_not(callers) -> None:
    await callers.come(*["a"] * 8)
    await callers.come("b", "c")
    await callers.come(*["d"] * 3, is_urgent=True)
    assert callers.served[8:] == ["d"]  # of two that are reserved one is for others
    await callers.leave("a")
    assert callers.served[9:] == ["d"]


async def test_who_waits_too_long_is_told_so_and_who_leaves_is_forgotten() -> None:
    shares = ConnectionShares(1, reserved=0, wait_seconds=0)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(shares.place("a"))
        with pytest.raises(UnavailableError, match="Waited 0 s for a connection") as refused:
            await stack.enter_async_context(shares.place("b"))
        assert (refused.value.retry_after_seconds, shares.waiting) == (1, 0)
    async with shares.place("b"):
        pass


async def test_a_place_that_comes_in_the_moment_in_which_its_caller_goes_is_the_next_ones() -> None:
    shares = ConnectionShares(1, reserved=0, wait_seconds=60)
    served = asyncio.Event()

    async def call() -> None:
        async with shares.place("b"):
            served.set()

    async with shares.place("a"):
        first, second = asyncio.create_task(call()), asyncio.create_task(call())
        await asyncio.sleep(0)
    first.cancel()
    await second
    assert served.is_set()


async def test_a_place_that_is_handed_to_whoever_has_just_given_up_goes_on() -> None:
    """A time-out and the end of a request in one turn of the loop: the place, and the callers behind, were lost."""
    shares, served = ConnectionShares(1, reserved=0), []

    async def call(name: str) -> None:
        async with shares.place("o"):
            served.append(name)

    async with shares.place("o"):
        given_up, behind = (asyncio.create_task(call(name)) for name in ("given up", "behind"))
        await asyncio.sleep(0)
        given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    await behind
    assert (served, shares.waiting) == (["behind"], 0)
    async with asyncio.timeout(5), shares.place("p"):
        pass
