"""A clock that a test moves."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


@dataclass
class MovableClock:
    """The real time, and as much later as the test says."""

    ahead: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead
