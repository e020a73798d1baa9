"""How often somebody may guess."""

from datetime import UTC, datetime, timedelta

import pytest

from headgate.kernel.errors import RateLimitedError
from headgate.mfa.attempts import FIRST_LOCK, LONGEST_LOCK, MOST_ATTEMPTS, WINDOW, Attempts, begin_attempt

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_the_fifth_within_the_window_locks_and_is_still_looked_at() -> None:
    known = Attempts()
    for number in range(1, MOST_ATTEMPTS):
        known = begin_attempt(known, NOW)
        assert (known.count, known.locked_until) == (number, None)
    known = begin_attempt(known, NOW)
    assert known.locked_until == NOW + FIRST_LOCK
    with pytest.raises(RateLimitedError) as refused:
        begin_attempt(known, NOW + FIRST_LOCK - timedelta(seconds=1))
    assert refused.value.retry_after_seconds == 2


def test_old_attempts_are_forgotten() -> None:
    known = Attempts(MOST_ATTEMPTS - 1, NOW)
    assert begin_attempt(known, NOW + WINDOW) == Attempts(1, NOW + WINDOW)
    assert begin_attempt(known, NOW + WINDOW - timedelta(microseconds=1)).locked_until is not None


def test_each_lock_in_a_row_lasts_twice_as_long_up_to_a_day() -> None:
    known, now, lasted = Attempts(), NOW, []
    for _ in range(12):
        for _ in range(MOST_ATTEMPTS):
            known = begin_attempt(known, now)
        assert known.locked_until is not None
        lasted.append(known.locked_until - now)
        now = known.locked_until
    assert lasted[:3] == [FIRST_LOCK, FIRST_LOCK * 2, FIRST_LOCK * 4]
    assert lasted[-1] == LONGEST_LOCK
