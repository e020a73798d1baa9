"""A line that anybody can cause is written so many times a minute, and then counted."""

import logging

import pytest
import structlog

from headgate.configuration.sampled_lines import SampledLines


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.events: list[object] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.events.append(record.msg)


@pytest.fixture
def seconds() -> list[float]:
    return [0.0]


@pytest.fixture
def kept(seconds) -> _Kept:
    handler = _Kept()
    handler.addFilter(SampledLines(lambda: seconds[0], lines=3))
    return handler


def say(kept: _Kept, event: object, logger: str = "gate") -> None:
    kept.handle(logging.LogRecord(logger, logging.INFO, "", 0, event, (), None))


def test_the_first_of_a_minute_are_written(kept) -> None:
    for number in range(10):
        say(kept, {"event": "refused", "reason": f"{number}"})
    say(kept, {"event": "something else"})
    assert [one["event"] for one in kept.events] == ["refused"] * 3 + ["something else"]


def test_lines_of_other_libraries_count_together(kept) -> None:
    for number in range(10):
        say(kept, f"127.0.0.1:{number}: handshake failed", logger="mitmproxy.proxy.server")
    assert len(kept.events) == 3


def test_those_left_out_are_counted(kept, seconds) -> None:
    for _ in range(10):
        say(kept, {"event": "refused"})
    seconds[0] = 61.0
    with structlog.testing.capture_logs() as told:
        say(kept, {"event": "refused"})
    assert told == [{"event": "log_lines_left_out", "of": "refused", "count": 7, "seconds": 60, "log_level": "warning"}]
    assert len(kept.events) == 4


def test_names_that_outsiders_choose_do_not_fill_memory(kept) -> None:
    for number in range(3_000):
        say(kept, {"event": f"event {number}"})
    assert len(kept.events) == 1_003
