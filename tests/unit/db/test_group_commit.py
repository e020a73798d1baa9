"""Group commit against a call that answers, refuses or dies on command: exact counts, no row lost or hung."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headgate.db.group_commit import GroupCommit
from headgate.db.prepared_call import StatementRefusedError
from headgate.kernel.errors import UnavailableError


class FakeCall:
    """PreparedCall, in memory: a batch is its parameters, an answer the doubled numbers."""

    def __init__(self, *, opened: bool = True) -> None:
        self.opened = opened
        self.opens = 0
        self.open_seconds = 0.0
        self.open_error: Exception | None = None
        self.batches: list[list[int]] = []
        self.refused: set[int] = set()
        self.down = False
        self.pause_seconds = 0.0
        self.held: list[Callable[[], None]] | None = None
        """Where it is a list, answers wait in it."""

    async def open(self) -> None:
        self.opens += 1
        try:
            await asyncio.sleep(self.open_seconds)
            if self.open_error is not None:
                raise self.open_error
            if self.down:
                raise UnavailableError("down")
        finally:
            self.opened = True

    def call(self, parameters: Sequence[bytes], answered: Callable[[Any], None]) -> None:
        loop = asyncio.get_running_loop()
        numbers = list(parameters[0])
        self.batches.append(numbers)
        if self.down:
            loop.call_soon(answered, UnavailableError("down"))
        elif self.refused & set(numbers):
            loop.call_later(self.pause_seconds, answered, StatementRefusedError("bad row"))
        elif self.held is not None:
            self.held.append(lambda: answered([number * 2 for number in numbers]))
        else:
            loop.call_later(self.pause_seconds, answered, [number * 2 for number in numbers])


def encode(rows: Sequence[int]) -> list[bytes]:
    return [bytes(rows)]


def commits(call: FakeCall, **options: Any) -> GroupCommit[int, int]:
    return GroupCommit(call, encode=encode, decode=lambda result, _: result, **options)  # type: ignore[arg-type]


async def test_rows_that_queue_up_during_a_commit_share_the_next() -> None:
    call = FakeCall()
    call.held = []
    group = commits(call)
    first = group.submit(1)
    while not call.held:
        await asyncio.sleep(0)
    rest = [group.submit(number) for number in (2, 3, 4)]
    answer, call.held = call.held[0], None
    answer()
    assert await asyncio.gather(first, *rest) == [2, 4, 6, 8]
    assert call.batches == [[1], [2, 3, 4]]


async def test_a_late_window_that_closes_during_a_commit_opens_again() -> None:
    call = FakeCall()
    call.pause_seconds = 0.02
    group = commits(call, window_seconds=0.005)
    first = group.submit(1)
    await asyncio.sleep(0.01)  # the commit of 1 is under way
    second = group.submit(2)
    assert await asyncio.wait_for(asyncio.gather(first, second), 30) == [2, 4]


async def test_a_call_is_opened_with_its_first_rows_and_once() -> None:
    call = FakeCall(opened=False)
    call.open_seconds = 0.01
    group = commits(call)
    answers = [group.submit(number) for number in (1, 2)]
    await asyncio.sleep(0)
    answers.append(group.submit(3))  # while it is opened
    assert call.batches == []
    assert await asyncio.gather(*answers) == [2, 4, 6]
    assert await group.submit(4) == 8
    assert (call.opens, call.batches) == (1, [[1], [2, 3], [4]])


async def test_a_call_that_cannot_be_opened_refuses_its_rows_and_the_next_go_through() -> None:
    call = FakeCall(opened=False)
    call.down = True
    group = commits(call)
    with pytest.raises(UnavailableError, match="down"):
        await group.submit(1)
    call.down = False
    assert await group.submit(2) == 4
    assert call.opens == 1


async def test_a_call_that_opens_for_ever_holds_no_row_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.db.group_commit._OPEN_SECONDS", 0.02)
    call = FakeCall(opened=False)
    call.open_seconds = 60
    group = commits(call)
    assert await asyncio.wait_for(group.submit(1), 30) == 2  # the call itself knows whether it is connected
    assert await asyncio.wait_for(group.submit(2), 30) == 4
    await asyncio.wait_for(group.drain(), 30)
    assert call.opens == 1, "it goes on opening"


async def test_whatever_opening_raises_the_rows_are_answered() -> None:
    call = FakeCall(opened=False)
    call.open_error = OSError("no descriptor")
    group = commits(call)
    assert await asyncio.wait_for(group.submit(1), 30) == 2
    await asyncio.wait_for(group.drain(), 30)


async def test_every_row_is_answered_exactly_once_whatever_the_interleaving() -> None:
    call = FakeCall()
    group = commits(call, window_seconds=0.001, max_rows=7)
    answers = []
    for number in range(200):
        answers.append(group.submit(number))
        if number % 13 == 0:
            await asyncio.sleep(0.001)
    await group.drain()
    assert [await answer for answer in answers] == [number * 2 for number in range(200)]
    assert sum(len(batch) for batch in call.batches) == 200
    assert max(len(batch) for batch in call.batches) <= 7


async def test_one_bad_row_refuses_one_call() -> None:
    call = FakeCall()
    call.refused = {2}
    group = commits(call)
    answers = [group.submit(number) for number in (1, 2, 3)]
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert results[0] == 2
    assert results[2] == 6
    assert isinstance(results[1], StatementRefusedError)


async def test_a_row_that_cannot_be_encoded_is_refused_and_the_next_goes_through() -> None:
    group = commits(FakeCall())
    with pytest.raises(StatementRefusedError, match="could not be encoded"):
        await group.submit(1000)  # no byte
    assert await group.submit(5) == 10


async def test_a_lost_database_fails_the_batch_at_once_and_recovers() -> None:
    call = FakeCall()
    call.down = True
    group = commits(call)
    results = await asyncio.gather(group.submit(1), group.submit(2), return_exceptions=True)
    assert all(isinstance(result, UnavailableError) for result in results)
    call.down = False
    assert await group.submit(3) == 6


async def test_a_full_queue_refuses_instead_of_growing() -> None:
    call = FakeCall()
    call.pause_seconds = 0.01
    group = commits(call, max_queued=2)
    answers = [group.submit(number) for number in (1, 2, 3, 4)]  # the first is under way, two wait
    with pytest.raises(UnavailableError, match="too many"):
        await answers[3]
    assert await asyncio.gather(*answers[:3]) == [2, 4, 6]


async def test_an_answer_that_cannot_be_read_admits_nobody_and_hangs_nobody() -> None:
    group: GroupCommit[int, int] = GroupCommit(FakeCall(), encode=encode, decode=lambda result, _: [])  # type: ignore[arg-type]
    with pytest.raises(UnavailableError, match="not clear"):
        await asyncio.wait_for(group.submit(1), timeout=5)
