"""A provider that fails again and again is left alone for a while, so that nobody waits for it."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

FAILURES_TO_OPEN: Final = 5
OPEN_SECONDS: Final = 4.0


class BreakerState(StrEnum):
    """``half_open``: the next call is let through to see."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker(Struct):
    """Closed; open after so many failures in a row; then one call may try (half open), every ``OPEN_SECONDS`` from the
    beginning of one try to the next: a try that hangs until its deadline does not put the next one off.

    ``clock`` counts seconds and never goes back. ``began``: when the call was allowed.
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

    def failed(self, began: float) -> None:
        if self._is_late(began):
            return
        self._failures += 1
        if self._opened_at is not None:
            self._opened_at, self._trying = began, False
        elif self._failures >= FAILURES_TO_OPEN:
            self._opened_at = self.clock()

    def gave_up(self, began: float) -> None:
        """The caller went away before it was known how the call went."""
        if not self._is_late(began):
            self._trying = False

    def _is_late(self, began: float) -> bool:
        """A call from before the breaker opened: its failure is nothing new, and it is not the one that tries."""
        return self._opened_at is not None and began < self._opened_at + OPEN_SECONDS
