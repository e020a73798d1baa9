"""The shared limiter against a real Valkey: one count for all processes, the same decision as in Python, and
what happens when Valkey goes and comes back."""

import asyncio
import time

import pytest
from redis.asyncio import Redis

from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.gcra import Quota, Verdict
from headgate.ratelimits.limiter import RateLimiter
from headgate.ratelimits.local_window import LocalWindows

QUOTAS = {RateClass.ACTIONS: Quota(5, 60), RateClass.ADMIN: Quota(1, 1)}


def comparable(verdict: Verdict | None) -> tuple[bool, int, int]:
    assert verdict is not None
    return verdict.allowed, verdict.limit, verdict.remaining


async def test_two_processes_count_together_and_decide_as_one_would(valkey_server) -> None:
    async with Redis.from_url(valkey_server.url) as one, Redis.from_url(valkey_server.url) as other:
        limiters = [RateLimiter(one, quotas=QUOTAS), RateLimiter(other, quotas=QUOTAS)]
        alone = LocalWindows(QUOTAS)
        for number in range(8):
            shared = await limiters[number % 2].check(RateClass.ACTIONS, "key_1")
            assert comparable(shared) == comparable(alone.check(RateClass.ACTIONS, "key_1")), number
        refused = await limiters[0].check(RateClass.ACTIONS, "key_1")
        assert refused is not None
        assert 58 <= refused.retry_after_seconds <= 60
        assert -2 <= refused.reset_at_seconds - time.time() - 60 <= 2
        assert comparable(await limiters[1].check(RateClass.ACTIONS, "key_2")) == (True, 5, 4)
        assert await one.pttl("headgate:window:actions:key_1") <= 60_000


async def test_a_quota_is_earned_back(valkey_server) -> None:
    async with Redis.from_url(valkey_server.url) as client:
        limiter = RateLimiter(client, quotas=QUOTAS)
        first, second = [await limiter.check(RateClass.ADMIN, "usr_1") for _ in range(2)]
        assert (comparable(first)[0], comparable(second)[0]) == (True, False)
        assert second is not None
        await asyncio.sleep(second.retry_after_us / 1e6)
        assert comparable(await limiter.check(RateClass.ADMIN, "usr_1"))[0]


async def test_without_valkey_each_process_counts_alone_until_it_is_back(valkey_server) -> None:
    now = [0.0]
    async with Redis.from_url(valkey_server.url) as client:
        limiter = RateLimiter(client, quotas=QUOTAS, monotonic=lambda: now[0])
        for _ in range(5):
            await limiter.check(RateClass.ACTIONS, "key_1")
        valkey_server.kill()
        # Counted from the start again, but counted: never without a limit.
        alone = [comparable(await limiter.check(RateClass.ACTIONS, "key_1"))[0] for _ in range(6)]
        assert alone == [True] * 5 + [False]
        valkey_server.start()
        now[0] += 1.0
        assert comparable(await limiter.check(RateClass.ACTIONS, "key_1")) == (True, 5, 4)


async def test_a_valkey_that_hangs_costs_one_deadline(valkey_server) -> None:
    async with Redis.from_url(valkey_server.url) as client, Redis.from_url(valkey_server.url) as other:
        limiter = RateLimiter(client, quotas=QUOTAS)
        await limiter.check(RateClass.ACTIONS, "key_1")
        await other.execute_command("CLIENT", "PAUSE", "5000", "ALL")
        started = time.monotonic()
        for _ in range(100):
            assert await limiter.check(RateClass.ACTIONS, "key_2") is not None
        assert time.monotonic() - started < 1.0


@pytest.mark.parametrize("enabled", [True, False])
async def test_limits_can_be_off_and_need_no_valkey(enabled: bool) -> None:
    limiter = RateLimiter(None, quotas=QUOTAS, enabled=enabled)
    verdicts = [await limiter.check(RateClass.ACTIONS, "key_1") for _ in range(6)]
    assert [verdict is None for verdict in verdicts] == [not enabled] * 6
