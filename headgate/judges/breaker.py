"""A provider that fails again and again is left alone for a while, so that nobody waits for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

FAILURES_TO_OPEN: Final = 5
OPEN_SECONDS: Final = 10.0


class BreakerState(StrEnum):
    """``half_open``: the next call is let through to see."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(slots=True)
class Breaker:
    """Closed; open after so many failures in a row; after a while one call may try (half open).

    ``clock`` counts seconds and never goes back.
    """

    clock: Callable[[], float]
    _failures: int = 0
    _opened_at: float | None = field(default=None)
    _trying: bool = False

    def allows(self) -> bool:
        """Whether a call may be made; whoever is allowed one tells how it went."""
        if not self.would_allow():
            return False
        self._trying = self._opened_at is not None
        return True

    def would_allow(self) -> bool:
        """What ``allows`` would answer; nothing is begun."""
        if self._opened_at is None:
            return True
        return not self._trying and self.clock() - self._opened_at >= OPEN_SECONDS

    @property
    def state(self) -> BreakerState:
        """What the next call would meet; asking changes nothing."""
        if self._opened_at is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self.clock() - self._opened_at < OPEN_SECONDS else BreakerState.HALF_OPEN

    def succeeded(self) -> None:
        self._failures, self._opened_at, self._trying = 0, None, False

    def failed(self) -> None:
        self._failures += 1
        self._trying = False
        if self._failures >= FAILURES_TO_OPEN:
            self._opened_at = self.clock()

    def gave_up(self) -> None:
        """The caller went away before it was known how the call went."""
        self._trying = False
