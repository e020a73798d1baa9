"""A provider that fails again and again is left alone for a while, so that nobody waits for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

FAILURES_TO_OPEN: Final = 5
OPEN_SECONDS: Final = 10.0


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
        if self._opened_at is None:
            return True
        if self._trying or self.clock() - self._opened_at < OPEN_SECONDS:
            return False
        self._trying = True
        return True

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
