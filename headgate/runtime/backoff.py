"""How long to wait before a part is started again: pure, with randomness and clock passed in."""

from dataclasses import dataclass, replace
from typing import Final

_FIRST_SECONDS: Final = 0.1
_LONGEST_SECONDS: Final = 10.0
_SETTLED_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Restarts:
    """``in_a_row``: deaths without a settled life in between."""

    in_a_row: int = 0

    def after_death(self, lived_seconds: float) -> "Restarts":
        """A part that lived for a while and died is restarted at once; one that keeps dying is waited for longer."""
        return replace(self, in_a_row=1 if lived_seconds >= _SETTLED_SECONDS else self.in_a_row + 1)

    def delay_seconds(self, random: float) -> float:
        """Exponential, capped, with jitter: ``random`` in [0, 1) takes away up to half, so that parts that died of
        one cause do not come back in one moment."""
        # The exponent is bounded before it is used: 2.0 ** 2000 is an OverflowError.
        full = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(self.in_a_row - 1, 20))
        return full * (1 - random / 2)
