"""Reads every time that PostgreSQL can hold, also those outside the range of ``datetime``.

``timestamptz`` is microseconds since 2000, from 4713 BC to the year 294276, with two values for infinity (PostgreSQL,
"Date/Time Types"); ``datetime`` ends at the years 1 and 9999. A row that was tampered with may hold any of them, and
verification must name this row instead of failing.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from psycopg.adapt import Buffer, Loader
from psycopg.pq import Format

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_INFINITY: Final = 2**63 - 1
_MINUS_INFINITY: Final = -(2**63)


class AnyTimeLoader(Loader):
    """Of binary answers: a time in UTC, or a text that says what stands there instead."""

    format = Format.BINARY

    def load(self, data: Buffer) -> datetime | str:
        return any_time(int.from_bytes(data, "big", signed=True))


def any_time(microseconds: int) -> datetime | str:
    """``microseconds`` since 2000."""
    if microseconds == _INFINITY:
        return "infinity"
    if microseconds == _MINUS_INFINITY:
        return "-infinity"
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return "a time before the year 1" if microseconds < 0 else "a time after the year 9999"
