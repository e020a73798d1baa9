import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.errors import RateLimitedError
from headgate.ratelimits.classes import DEFAULT_QUOTAS, RateClass
from headgate.ratelimits.gcra import Quota, Verdict, decide
from headgate.ratelimits.headers import rate_limit_headers, require_allowed

SECOND = 1_000_000
NOW = 1_800_000_000 * SECOND
QUOTA = Quota(3, 60)  # one every 20 s


def test_the_quotas_are_the_specifications() -> None:
    assert {name.value: (quota.count, quota.period_seconds) for name, quota in DEFAULT_QUOTAS.items()} == {
        "actions": (100, 60),
        "admin": (50, 60),
        "decisions": (100, 60),
        "webhooks": (1000, 60),
        "proxy": (1200, 60),
        "connect": (1200, 60),
        "public": (60, 60),
        "pages": (600, 60),
    }
    assert set(DEFAULT_QUOTAS) == set(RateClass)


def test_all_at_once_then_one_at_a_time() -> None:
    tat: int | None = None
    seen = []
    for now in (0, 0, 0, 0, 19, 20, 20, 60, 60, 60):
        verdict, tat = decide(QUOTA, tat, NOW + now * SECOND)
        seen.append((now, verdict.allowed, verdict.remaining, verdict.retry_after_us // SECOND))
    assert seen == [
        (0, True, 2, 0),
        (0, True, 1, 0),
        (0, True, 0, 0),
        (0, False, 0, 20),
        (19, False, 0, 1),
        (20, True, 0, 0),
        (20, False, 0, 20),
        (60, True, 1, 0),
        (60, True, 0, 0),
        (60, False, 0, 20),
    ]


@given(
    st.integers(1, 50),
    st.integers(1, 120),
    st.lists(st.integers(0, 30 * SECOND), min_size=1, max_size=200),
)
def test_never_more_than_twice_the_count_in_a_period_nor_less_than_the_rate(
    count: int, period: int, gaps: list[int]
) -> None:
    quota = Quota(count, period)
    now, tat, allowed_at = NOW, None, []
    for gap in gaps:
        now += gap
        verdict, tat = decide(quota, tat, now)
        assert 0 <= verdict.remaining < count or not verdict.allowed
        if verdict.allowed:
            allowed_at.append(now)
        else:
            # Whoever comes back when told to is let in, and not a microsecond before.
            assert decide(quota, tat, now + verdict.retry_after_us)[0].allowed
            assert not decide(quota, tat, now + verdict.retry_after_us - 1)[0].allowed
    for start in allowed_at:
        within = [at for at in allowed_at if start <= at < start + quota.period_us]
        # A full bucket, and what a period earns (the interval is rounded down to a microsecond).
        assert len(within) <= 2 * count + 1


@pytest.mark.parametrize(("count", "period"), [(0, 60), (1, 0), (-1, 60)])
def test_a_quota_of_nothing_is_refused(count: int, period: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Quota(count, period)


def test_headers_round_so_that_they_never_promise_too_much() -> None:
    refused = Verdict(False, 100, 0, NOW + 1, 1)
    assert rate_limit_headers(refused) == [
        (b"x-ratelimit-limit", b"100"),
        (b"x-ratelimit-remaining", b"0"),
        (b"x-ratelimit-reset", b"1800000001"),
    ]
    with pytest.raises(RateLimitedError) as caught:
        require_allowed(refused)
    assert caught.value.retry_after_seconds == 1
    require_allowed(Verdict(True, 100, 99, NOW, 0))
