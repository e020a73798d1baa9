"""What Retry-After means to a sender."""

import pytest

from headgate.outgoing.model import OutgoingResponse
from headgate.outgoing.retry_after import retry_after_seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("77", 77.0),
        ("86400", 3600.0),
        ("1234567", 3600.0),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
        ("Sat, 21 Nov 2026 19:00:00 GMT", None),
    ],
)
def test_seconds_count_up_to_an_hour_and_nothing_else_does(value: str, seconds: float | None) -> None:
    response = OutgoingResponse(429, (("retry-after", value),), b"", is_truncated=False, latency_ms=1.0)
    assert retry_after_seconds(response) == seconds


def test_an_answer_that_says_nothing_asks_for_no_pause() -> None:
    assert retry_after_seconds(OutgoingResponse(503, (), b"", is_truncated=False, latency_ms=1.0)) is None
