"""The share of a proxy process that one party uses: an address that has shown no key, an agent, an organization.

A party's connections, its refusals and its time in the event loop are counted together, over all of its connections.
"""

from collections.abc import Callable
from time import monotonic
from typing import Final

from addons.allowance import Allowance

REFUSALS_AT_ONCE: Final = 200
REFUSALS_PER_SECOND: Final = 50
SLICE_SECONDS: Final = 0.002
"""What an agent, or an address without a key, may take of the event loop in one turn of it."""

ORGANIZATION_SLICE_SECONDS: Final = 0.004
"""The same of an organization, and of all addresses without a key together."""


class Share:
    """``parent``: of an agent its organization, of an address all that have shown no key.

    ``turn``, ``used_seconds`` and ``piece_seconds``, what a piece of its work takes, are ``proxy.turns``'s,
    ``connections`` ``proxy.connection_shares``'s.
    """

    __slots__ = (
        "_clock", "_refusals", "connections", "name", "parent", "piece_seconds", "slice_seconds", "turn",
        "used_seconds",
    )  # fmt: skip

    def __init__(
        self,
        name: str = "",
        parent: "Share | None" = None,
        slice_seconds: float = SLICE_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clock = clock
        self.name = name
        self.parent = parent
        self.slice_seconds = slice_seconds
        self.turn = -1
        self.used_seconds = 0.0
        self.piece_seconds = 0.0
        self.connections = 0
        self._refusals = Allowance(REFUSALS_AT_ONCE, REFUSALS_PER_SECOND, clock())

    def count_refusal(self) -> bool:
        """Whether the next one may come over the same connection."""
        return self._refusals.spend(1, self._clock())

    @property
    def may_be_refused(self) -> bool:
        """Whether one more refusal is within the allowance."""
        return self._refusals.has_left(1, self._clock())

    @property
    def is_as_new(self) -> bool:
        return not self.connections and self._refusals.is_untouched(self._clock())
