"""The memory that an inspected answer takes. If the budget has no room for it, the answer is withheld."""

from typing import Final

from addons.inspection import Inspection
from addons.memory_charge import MemoryCharge
from headgate.kernel.errors import UnavailableError

_NO_ROOM: Final = "the gate holds as much of other bodies as it may"


class AnswerRoom:
    """Of one answer."""

    def __init__(self, inspection: Inspection, charge: MemoryCharge) -> None:
        self._inspection = inspection
        self._charge = charge

    def holds(self, size: int, *, in_part: bool = False) -> bool:
        """Whether there is room to hold so much of the answer; where not, it is withheld. ``in_part``: what is larger
        than is inspected passes once its beginning is clear."""
        limit = self._inspection.limits.body
        if size > limit and not in_part:
            self._inspection.withhold(f"it is larger than the {limit} bytes that are inspected")
            return False
        return self.reserves(size)

    def reserves(self, size: int) -> bool:
        """As ``holds``, for what the answer takes while it is read, which may be more than is inspected."""
        try:
            self._charge.charge(size)
        except UnavailableError:
            self._inspection.withhold(_NO_ROOM)
            return False
        return not self._inspection.is_withheld

    def release(self) -> bool:
        """Whether anything was held."""
        was_held = bool(self._charge.size_bytes)
        self._charge.release()
        return was_held
