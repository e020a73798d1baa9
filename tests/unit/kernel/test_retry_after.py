"""What Retry-After says, in both of its forms."""

from datetime import UTC, datetime

import pytest

from headgate.kernel.retry_after import seconds_of, seconds_until

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("77", 77.0),
        ("Sat, 21 Nov 2026 12:01:30 GMT", 90.0),
        ("Sat, 21 Nov 2026 12:01:30", 90.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("soon", None),
        ("Sat, 21 Nov 2026 12:01:30 +99999999999999999999", None),
        ("", None),
    ],
)
def test_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert seconds_until(value, NOON) == seconds
    assert seconds_of(value) == (seconds if value.isdigit() else None)


def test_digits_without_end_are_a_long_time() -> None:
    assert seconds_of("9" * 5000) == 999_999_999_999.0
