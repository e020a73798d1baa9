"""What a policy may spend on questions in a day, counted by several processes through a real Valkey."""

import asyncio
from datetime import UTC, datetime

from redis.asyncio import Redis

from headgate.judges.daily_budget import DailyBudgets

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def _of_a_process(valkey: Redis, now: list[float] | None = None) -> DailyBudgets:
    """A machine may stand still for a moment: here a question waits for its answer."""
    return DailyBudgets(lambda: NOON, valkey, monotonic=lambda: now[0] if now else 0.0, deadline_seconds=30)


async def _spend(one: DailyBudgets, times: int, limit: int = 5) -> int:
    return sum(await asyncio.gather(*(one.spend("org_1 nlp_1", limit) for _ in range(times))))


async def test_processes_spend_one_budget_together(valkey_server) -> None:
    async with Redis.from_url(valkey_server.url) as one, Redis.from_url(valkey_server.url) as other:
        api, proxy = (_of_a_process(valkey) for valkey in (one, other))
        assert sum(await asyncio.gather(_spend(api, 4), _spend(proxy, 4))) == 5
        assert await _spend(api, 1) + await _spend(proxy, 1) == 0
        assert not api.has_left("org_1 nlp_1", 5)
        assert await proxy.spend("org_1 nlp_2", 5)
        assert await one.ttl("headgate:judge-budget:2026-11-21 org_1 nlp_1") > 24 * 3600


async def test_without_valkey_a_process_goes_on_from_what_it_knows_and_tells_it_afterwards(valkey_server) -> None:
    now = [0.0]
    async with Redis.from_url(valkey_server.url) as one, Redis.from_url(valkey_server.url) as other:
        api = _of_a_process(one, now)
        assert await _spend(_of_a_process(other), 2) == 2
        assert await _spend(api, 1) == 1
        valkey_server.kill()
        assert await _spend(api, 1) == 1
        # It comes back with nothing in it.
        valkey_server.start()
        now[0] += 1.0
        assert await _spend(api, 3) == 1
        assert await _spend(_of_a_process(other), 1) == 0


async def test_a_valkey_that_hangs_costs_one_deadline_and_no_question(valkey_server) -> None:
    async with Redis.from_url(valkey_server.url) as client, Redis.from_url(valkey_server.url) as other:
        budgets = DailyBudgets(lambda: NOON, client)
        assert await _spend(budgets, 1) == 1
        await other.execute_command("CLIENT", "PAUSE", "2000", "ALL")
        assert await _spend(budgets, 10) == 4
