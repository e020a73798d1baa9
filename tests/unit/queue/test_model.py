"""The backoff: exponential, capped, with jitter, and with an end."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from procrastinate.jobs import Job as StoredJob

from headgate.kernel.backoff import Backoff
from headgate.queue.model import RetryLater
from headgate.queue.retry import CappedBackoff


@pytest.mark.parametrize(
    ("attempt", "chance", "expected"),
    [(1, 0.0, 1.0), (1, 1.0, 2.0), (2, 0.0, 2.0), (3, 0.5, 6.0), (4, 1.0, 10.0), (5, 1.0, None), (9, 0.0, None)],
)
def test_the_wait_doubles_up_to_the_cap_and_ends(attempt: int, chance: float, expected: float | None) -> None:
    assert Backoff(first_seconds=2, cap_seconds=10, most_attempts=5).wait_seconds(attempt, chance) == expected


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_no_attempt_waits_longer_than_the_cap(attempt: int, chance: float) -> None:
    wait = Backoff(first_seconds=1, cap_seconds=60, most_attempts=10**7).wait_seconds(attempt, chance)
    assert wait is not None and 0.5 <= wait <= 60


def _stored(attempts: int) -> StoredJob:
    return StoredJob(queue="q", lock=None, queueing_lock=None, task_name="t", attempts=attempts)


def test_who_asks_for_a_later_time_gets_it_but_no_further_attempt() -> None:
    strategy = CappedBackoff(Backoff(most_attempts=2), lambda: 0.0)
    asked = RetryLater("busy", after_seconds=1000)
    decision = strategy.get_retry_decision(exception=asked, job=_stored(0))
    assert decision is not None and decision.retry_at is not None
    assert 990 < (decision.retry_at - datetime.now(UTC)).total_seconds() <= 1000
    assert strategy.get_retry_decision(exception=asked, job=_stored(1)) is None
    assert not strategy.is_last(_stored(0)) and strategy.is_last(_stored(1))
