"""Deadlines of remote procedure calls."""

import pytest

from headgate.protocols.grpc_deadline import answer_within_seconds, timeout_seconds


@pytest.mark.parametrize(
    ("name", "value", "seconds"),
    [
        (b"grpc-timeout", b"2S", 2.0),
        (b"Grpc-Timeout", b"1H", 3600.0),
        (b"grpc-timeout", b"5M", 300.0),
        (b"grpc-timeout", b"1500m", 1.5),
        (b"grpc-timeout", b"1000000u", 1.0),
        (b"grpc-timeout", b"99999999n", 0.099999999),
        (b"connect-timeout-ms", b"2500", 2.5),
        (b"grpc-timeout", b"123456789S", None),
        (b"grpc-timeout", b"2s", None),
        (b"grpc-timeout", b"-1S", None),
        (b"connect-timeout-ms", b"2.5", None),
        (b"x-timeout", b"2S", None),
    ],
)
def test_timeouts(name: bytes, value: bytes, seconds: float | None) -> None:
    assert timeout_seconds(((name, value),)) == (None if seconds is None else pytest.approx(seconds))


def test_the_shortest_counts_and_leaves_time_for_the_answer() -> None:
    fields = ((b"grpc-timeout", b"10S"), (b"grpc-timeout", b"4S"))
    assert timeout_seconds(fields) == 4.0
    assert answer_within_seconds(fields) == pytest.approx(3.6)
    assert answer_within_seconds(((b"grpc-timeout", b"1M"),)) == 58.0
    assert answer_within_seconds(()) is None
