"""Bounds how often one line is logged, so that outsiders cannot fill a disk with log lines.

33,000 refused requests wrote 33,000 lines. So many of an event a minute are written; of the others a line says how many
there were. Nothing is counted apart by what a line quotes, as outsiders choose that.
"""

import logging
from collections.abc import Callable
from time import monotonic
from typing import Final

import structlog

LINES_A_MINUTE: Final = 100
"""Of one event and logger, in one process."""

_PERIOD_SECONDS: Final = 60.0
_MOST_EVENTS: Final = 1_000


class SampledLines(logging.Filter):
    """For a handler. ``clock``: seconds that only go forward."""

    def __init__(self, clock: Callable[[], float] = monotonic, lines: int = LINES_A_MINUTE) -> None:
        super().__init__()
        self._clock = clock
        self._lines = lines
        self._began = clock()
        self._counts: dict[tuple[str, str], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if self._clock() - self._began >= _PERIOD_SECONDS:
            self._begin_period()
        # Of other libraries' lines only the logger is known to be no outsider's text.
        event = str(record.msg.get("event", "")) if isinstance(record.msg, dict) else ""
        key = (record.name, event)
        if key not in self._counts and len(self._counts) >= _MOST_EVENTS:
            key = ("", "")
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return count <= self._lines

    def _begin_period(self) -> None:
        counts, self._counts, self._began = self._counts, {}, self._clock()
        for (logger, event), count in counts.items():
            if count > self._lines:
                left_out = count - self._lines
                structlog.get_logger(logger or __name__).warning(
                    "log_lines_left_out", of=event or logger, count=left_out, seconds=int(_PERIOD_SECONDS)
                )
