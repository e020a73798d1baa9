"""Instants are UTC and written with six digits."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.clock import rfc3339, system_clock

_INSTANTS = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the strategy adds the zone


def test_now_is_utc() -> None:
    assert system_clock().tzinfo is UTC


def test_it_is_written_in_utc_with_microseconds() -> None:
    east = timezone(timedelta(hours=2))
    assert rfc3339(datetime(2026, 11, 21, 10, tzinfo=east)) == "2026-11-21T08:00:00.000000Z"


@given(_INSTANTS, _INSTANTS)
def test_text_sorts_as_time(one: datetime, other: datetime) -> None:
    assert (rfc3339(one) < rfc3339(other)) == (one < other)
    assert datetime.fromisoformat(rfc3339(one)) == one
