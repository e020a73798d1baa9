"""What the server can hold as a time, and what it becomes here."""

from datetime import UTC, datetime, timedelta

import pytest

from headgate.audit.any_time import AnyTimeLoader, any_time

_YEAR: int = 31_557_600_000_000


@pytest.mark.parametrize(
    ("microseconds", "time"),
    [
        (0, datetime(2000, 1, 1, tzinfo=UTC)),
        (-1, datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        ((datetime.max.replace(tzinfo=UTC) - datetime(2000, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1),
         datetime.max.replace(tzinfo=UTC)),
        ((datetime.min.replace(tzinfo=UTC) - datetime(2000, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1),
         datetime.min.replace(tzinfo=UTC)),
        (2**63 - 1, "infinity"),
        (-(2**63), "-infinity"),
        (2**63 - 2, "a time after the year 9999"),
        (-2044 * _YEAR, "a time before the year 1"),
        (18_000 * _YEAR, "a time after the year 9999"),
    ],
)  # fmt: skip
def test_each_is_what_it_is(microseconds: int, time: datetime | str) -> None:
    assert any_time(microseconds) == time
    assert AnyTimeLoader(0).load(microseconds.to_bytes(8, "big", signed=True)) == time
