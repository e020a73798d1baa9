"""No more than the quota in any stretch of the window's length, and everything that conforms is let through."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.gcra import Quota
from headgate.ratelimits.local_window import LocalWindows
from headgate.ratelimits.sliding_window import decide, settle

SECOND = 1_000_000
NOW = 1_800_000_000 * SECOND


def test_what_is_told() -> None:
    quota, kept = Quota(3, 60), deque[int]()
    told = [decide(quota, kept, NOW + number * 10 * SECOND) for number in range(5)]
    assert [(one.allowed, one.remaining) for one in told] == [(True, 2), (True, 1), (True, 0), (False, 0), (False, 0)]
    assert [one.retry_after_seconds for one in told[3:]] == [30, 20]
    assert told[4].reset_at_us == NOW + 80 * SECOND
    assert not decide(quota, kept, NOW + 60 * SECOND - 1).allowed
    again = decide(quota, kept, NOW + 60 * SECOND)
    assert (again.allowed, again.remaining) == (True, 0)


def test_a_smaller_quota_than_before_waits_until_enough_have_left() -> None:
    kept = deque([NOW, NOW + SECOND, NOW + 2 * SECOND])
    refused = decide(Quota(1, 60), kept, NOW + 3 * SECOND)
    assert (refused.allowed, refused.retry_after_us) == (False, 59 * SECOND)


def test_a_place_is_given_back_or_moves_to_the_moment_that_another_count_let_it_through() -> None:
    quota, kept = Quota(2, 60), deque[int]()
    first, second = decide(quota, kept, NOW), decide(quota, kept, NOW + SECOND)
    settle(quota, kept, first, NOW + 2 * SECOND)
    assert list(kept) == [NOW + SECOND, NOW + 2 * SECOND]
    settle(quota, kept, second, None)
    settle(quota, kept, second, NOW + 3 * SECOND)  # it has left already: nothing is added
    assert list(kept) == [NOW + 2 * SECOND]


@given(st.lists(st.integers(0, 5 * SECOND), max_size=60), st.integers(1, 5), st.integers(1, 10))
def test_any_window_holds_the_quota_and_no_less_is_let_through(gaps: list[int], count: int, seconds: int) -> None:
    quota, kept, now, let_through = Quota(count, seconds), deque[int](), NOW, list[int]()
    for gap in gaps:
        now += gap
        within = [one for one in let_through if one > now - quota.period_us]
        verdict = decide(quota, kept, now)
        assert verdict.allowed == (len(within) < count)
        if verdict.allowed:
            let_through.append(now)
            assert verdict.remaining == count - len(within) - 1
        else:
            assert decide(quota, deque(kept), now + verdict.retry_after_us).allowed
            assert not decide(quota, deque(kept), now + verdict.retry_after_us - 1).allowed
        assert len(kept) <= count


def test_memory_is_bounded_and_the_busy_are_remembered() -> None:
    windows = LocalWindows({RateClass.PUBLIC: Quota(2, 60)}, clock_us=lambda: NOW, max_subjects=3)
    for number in range(20):
        windows.check(RateClass.PUBLIC, "busy")
        windows.check(RateClass.PUBLIC, f"other {number}")
    assert not windows.check(RateClass.PUBLIC, "busy").allowed
    assert len(windows._windows) == 3
