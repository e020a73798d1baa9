"""Ends of a range of time as clients write them."""

from datetime import UTC, datetime

import pytest

from admin_api.instants import range_of_time
from headgate.kernel.errors import ValidationError

_EIGHT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-11-21T08:00:00Z", _EIGHT, _EIGHT),
        ("2026-11-21T08:00:00", _EIGHT, _EIGHT),
        ("2026-11-21T10:00:00+02:00", _EIGHT, _EIGHT),
        ("2026-11-21T10:00:00 02:00", _EIGHT, _EIGHT),
        ("2026-11-21T10:00:00+0200", _EIGHT, _EIGHT),
        ("2026-11-21 08:00", _EIGHT, _EIGHT),
        (
            "2026-11-21",
            datetime(2026, 11, 21, tzinfo=UTC),
            datetime(2026, 11, 21, 23, 59, 59, 999999, tzinfo=UTC),
        ),
    ],
)
def test_what_is_understood(text: str, start: datetime, end: datetime) -> None:
    assert range_of_time(text, None) == (start, None)
    assert range_of_time(None, text) == (None, end)
    assert range_of_time(text, text) == (start, end)


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-13-01", "2026-11-21T25:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "\0"],
)
def test_what_is_not(text: str) -> None:
    for start_date, end_date, field in ((text, None, "start_date"), (None, text, "end_date")):
        with pytest.raises(ValidationError) as raised:
            range_of_time(start_date, end_date)
        assert raised.value.details is not None
        assert raised.value.details["field"] == field


def test_a_range_does_not_end_before_it_starts() -> None:
    with pytest.raises(ValidationError, match="before start_date"):
        range_of_time("2026-11-21", "2026-11-20")
