"""Breaker, daily budget and cache: how often a judge is asked at most."""

import asyncio
from datetime import UTC, datetime

import pytest

from headgate.judges.breaker import FAILURES_TO_OPEN, OPEN_SECONDS, Breaker
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.model import Judgement, Provider, ProviderKind, Question, Usage, Verdict
from headgate.judges.verdict_cache import LIFETIME_SECONDS, VerdictCache

_PROVIDER = Provider(ProviderKind.GEMINI, "http://127.0.0.1:1")
_VERDICT = Verdict(Judgement(False, 0.1, 0.5, (), "fine"), Usage(10, 5), 1)


def _question(number: int) -> Question:
    return Question(_PROVIDER, "m", "p", 0.5, b"%d" % number, ())


def test_a_breaker_opens_tries_one_and_closes() -> None:
    now = 0.0
    breaker = Breaker(lambda: now)
    for _ in range(FAILURES_TO_OPEN):
        assert breaker.allows()
        breaker.failed(now)
    assert not breaker.allows()

    now = OPEN_SECONDS
    assert breaker.allows()
    assert not breaker.allows()  # one is trying
    breaker.failed(now)
    assert not breaker.allows()

    now = 2 * OPEN_SECONDS
    assert breaker.allows()
    breaker.gave_up(now)
    assert breaker.allows()
    breaker.succeeded()
    assert breaker.allows() and breaker.allows()


def test_a_try_that_hangs_does_not_put_the_next_one_off() -> None:
    now = 0.0
    breaker = Breaker(lambda: now)
    for _ in range(FAILURES_TO_OPEN):
        breaker.failed(now)
    now = OPEN_SECONDS
    assert breaker.allows()

    now = OPEN_SECONDS + 3
    breaker.failed(OPEN_SECONDS)
    now = 2 * OPEN_SECONDS
    assert breaker.allows()


def test_calls_from_before_it_opened_neither_prolong_it_nor_let_two_try() -> None:
    now = 1.0
    breaker = Breaker(lambda: now)
    for _ in range(FAILURES_TO_OPEN):
        breaker.failed(0.0)
    now = 1.0 + OPEN_SECONDS / 2
    breaker.failed(0.5)
    now = 1.0 + OPEN_SECONDS
    assert breaker.allows()
    breaker.gave_up(0.5)
    assert not breaker.allows()


async def test_a_budget_lasts_until_midnight() -> None:
    now = datetime(2026, 11, 21, 23, 59, tzinfo=UTC)
    budgets = DailyBudgets(lambda: now)

    assert [await budgets.spend("a", 2) for _ in range(3)] == [True, True, False]
    assert await budgets.spend("b", 2)
    now = datetime(2026, 11, 22, 0, 0, tzinfo=UTC)
    assert await budgets.spend("a", 2)


async def test_a_cache_keeps_so_many_and_so_long() -> None:
    now = 0.0
    asked: list[int] = []
    cache = VerdictCache(lambda: now, entries_max=2)

    async def ask_about(number: int) -> bool:
        async def ask() -> Verdict:
            asked.append(number)
            return _VERDICT

        return (await cache.verdict(_question(number), ask)).cached

    assert [await ask_about(one) for one in (1, 2, 1, 3, 1, 2)] == [False, False, True, False, True, False]
    now = LIFETIME_SECONDS + 1
    assert not await ask_about(2)
    assert asked == [1, 2, 3, 2, 2]


async def test_whoever_waits_for_a_question_that_fails_is_told_and_the_next_asks_again() -> None:
    cache = VerdictCache(lambda: 0.0)
    calls = 0

    async def ask() -> Verdict:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.01)
        raise RuntimeError("broken")

    results = await asyncio.gather(*(cache.verdict(_question(1), ask) for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in results] == [RuntimeError] * 3
    assert calls == 1
    with pytest.raises(RuntimeError):
        await cache.verdict(_question(1), ask)
    assert calls == 2


async def test_a_question_that_fails_before_it_is_asked_is_told_so_where_tasks_are_eager() -> None:
    """As in the proxy: a task has perhaps ended before its starter goes on."""
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    cache = VerdictCache(lambda: 0.0)

    async def refused() -> Verdict:
        raise RuntimeError("no budget")

    async def answered() -> Verdict:
        return _VERDICT

    with pytest.raises(RuntimeError, match="no budget"):
        await cache.verdict(_question(1), refused)
    assert await cache.verdict(_question(1), answered) == _VERDICT
    assert (await cache.verdict(_question(1), refused)).cached


def test_cost_is_told_only_where_prices_are_known() -> None:
    assert Usage(1_000_000, 500_000).cost(_PROVIDER) is None
    assert Usage(1_000_000, 500_000).cost(Provider(ProviderKind.GEMINI, "x", None, 1.0, 4.0)) == 3.0
