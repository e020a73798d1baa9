"""The shared limiter against a real Valkey: one count for all processes, the same decision as in Python, and
what happens when Valkey goes and comes back."""

import asyncio
import time

import pytest
from redis.asyncio import Redis

from headgate.ratelimits import limiter as limiter_module
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


async def test_a_process_that_loses_valkey_goes_on_with_what_it_has_let_through(valkey_server) -> None:
    now = [0.0]
    async with Redis.from_url(valkey_server.url) as client:
        limiter = RateLimiter(client, quotas=QUOTAS, monotonic=lambda: now[0])
        shared = [comparable(await limiter.check(RateClass.ACTIONS, "key_1"))[0] for _ in range(3)]
        valkey_server.kill()
        alone = [comparable(await limiter.check(RateClass.ACTIONS, "key_1"))[0] for _ in range(3)]
        valkey_server.start()  # empty: what it had counted is gone too
        now[0] += 1.0
        again = comparable(await limiter.check(RateClass.ACTIONS, "key_1"))
        assert shared + alone == [True] * 5 + [False]
        assert again == (False, 5, 0)
        assert comparable(await limiter.check(RateClass.ACTIONS, "key_2")) == (True, 5, 4)


async def test_a_valkey_that_stalls_in_a_flood_gives_no_second_quota(
    valkey_server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stalled, gone on, stalled: each switch happens within one window and one flood."""
    monkeypatch.setattr(limiter_module, "_DEADLINE_SECONDS", 2.0)  # a busy machine stalls for a tenth of a second too
    now = [0.0]
    async with Redis.from_url(valkey_server.url) as client:
        limiter = RateLimiter(client, quotas={RateClass.ACTIONS: Quota(100, 60)}, monotonic=lambda: now[0])

        async def flood(requests: int) -> int:
            verdicts = await asyncio.gather(*(limiter.check(RateClass.ACTIONS, "key_1") for _ in range(requests)))
            return [comparable(verdict)[0] for verdict in verdicts].count(True)

        let_through = [await flood(40)]
        modes = [limiter.mode]
        valkey_server.stall()
        let_through.append(await flood(30))
        modes.append(limiter.mode)
        valkey_server.go_on()
        now[0] += 1.0
        let_through.append(await flood(20))
        modes.append(limiter.mode)
        valkey_server.stall()
        let_through.append(await flood(150))
        modes.append(limiter.mode)
        valkey_server.go_on()
        now[0] += 1.0
        let_through.append(await flood(150))
        assert modes == ["shared", "per process", "shared", "per process"]
        assert let_through == [40, 30, 20, 10, 0]


async def test_a_refusal_by_valkey_uses_none_of_the_process_own_quota(valkey_server) -> None:
    now = [0.0]
    async with Redis.from_url(valkey_server.url) as one, Redis.from_url(valkey_server.url) as other:
        limiters = [RateLimiter(client, quotas=QUOTAS, monotonic=lambda: now[0]) for client in (one, other)]
        for _ in range(4):
            await limiters[0].check(RateClass.ACTIONS, "key_1")
        shared = [comparable(await limiters[1].check(RateClass.ACTIONS, "key_1")) for _ in range(5)]
        assert shared == [(True, 5, 0)] + [(False, 5, 0)] * 4
        valkey_server.kill()
        alone = [comparable(await limiters[1].check(RateClass.ACTIONS, "key_1"))[0] for _ in range(5)]
        assert alone == [True] * 4 + [False]


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
