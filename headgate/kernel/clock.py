"""Time as a value: UTC instants with microseconds, and how they are written."""

from collections.abc import Callable
from datetime import UTC, datetime

type Clock = Callable[[], datetime]
"""Passed to whatever decides by time, so that a test says what time it is."""


def system_clock() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def rfc3339(instant: datetime) -> str:
    """``2026-11-21T08:00:00.000000Z``: always UTC, always six digits, so that text sorts as time (RFC 3339)."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
