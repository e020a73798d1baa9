"""How long to wait before a part is started again: pure, with randomness and clock passed in."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.kernel.backoff import Backoff

_BACKOFF: Final = Backoff(first_seconds=0.1, cap_seconds=10)
_SETTLED_SECONDS: Final = 10.0


class Restarts(Struct, frozen=True):
    """``in_a_row``: deaths without a settled life in between."""

    in_a_row: int = 0

    def after_death(self, lived_seconds: float) -> "Restarts":
        """A part that lived for a while and died is restarted at once; one that keeps dying is waited for longer."""
        return replace(self, in_a_row=1 if lived_seconds >= _SETTLED_SECONDS else self.in_a_row + 1)

    def delay_seconds(self, random: float) -> float:
        """Exponential, capped, with jitter: ``random`` in [0, 1) takes away up to half, so that parts that died of
        one cause do not come back in one moment."""
        return _BACKOFF.pause_seconds(self.in_a_row, 1 - random)
