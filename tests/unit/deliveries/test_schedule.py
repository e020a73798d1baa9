"""When a failed delivery is tried again."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from headgate.deliveries.schedule import next_attempt_at

_START = datetime(2026, 11, 21, tzinfo=UTC)
_END = _START + timedelta(hours=24)


def test_a_receiver_that_is_away_for_a_day_is_tried_until_its_end_and_not_after() -> None:
    at, attempts = _START, 1
    while (again := next_attempt_at(attempts, at, _END, chance=0.5)) is not None:
        assert again > at
        at, attempts = again, attempts + 1
    assert at == _END
    assert 18 <= attempts <= 30


def test_an_hour_away_costs_less_than_an_hour_more() -> None:
    at, attempts = _START, 1
    while at < _START + timedelta(hours=1):
        again = next_attempt_at(attempts, at, _END, chance=0.999)
        assert again is not None
        at, attempts = again, attempts + 1
    assert at < _START + timedelta(hours=2)


@given(attempt=st.integers(1, 10_000), chance=st.floats(0, 0.999), after=st.none() | st.floats(0, 1e6))
def test_never_in_the_past_and_never_after_the_end(attempt: int, chance: float, after: float | None) -> None:
    now = _END - timedelta(seconds=30)
    again = next_attempt_at(attempt, now, _END, chance=chance, retry_after_seconds=after)
    assert again is not None
    assert now < again <= _END


def test_a_receiver_that_asks_for_time_gets_it() -> None:
    again = next_attempt_at(1, _START, _END, chance=0.0, retry_after_seconds=600)
    assert again == _START + timedelta(seconds=600)
