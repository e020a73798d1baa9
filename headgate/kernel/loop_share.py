"""How much of the event loop's time each organization may take for work that a thread could do.

GCRA, as in rate limits: what is used is earned back at a fixed share, and an organization may be ahead by one burst.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Final

LOOP_SHARE: Final = 0.25
_BURST_SECONDS: Final = 1.0
_ALONE_AFTER_SECONDS: Final = 1.0
"""An organization is alone after so long without work of another one."""
_FORGET_ABOVE: Final = 1024
_AHEAD_SECONDS: Final = 0.02


class LoopShare:
    """Limits each organization to ``LOOP_SHARE`` while others work, and none that is alone. ``clock`` in seconds."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._used_until: dict[str, float] = {}
        """By organization: the time at which what it used so far will have been earned."""
        self._last_org_id = ""
        self._others_until = 0.0

    def allows(self, org_id: str) -> bool:
        """Whether the organization's next piece of work may run in the event loop."""
        now = self._clock()
        if org_id != self._last_org_id:
            self._last_org_id, self._others_until = org_id, now + _ALONE_AFTER_SECONDS
        return self._used_until.get(org_id, now) <= now + _BURST_SECONDS or now >= self._others_until

    def charge(self, org_id: str, seconds: float) -> None:
        """Records use. Debt beyond the burst is dropped: it arises only while the organization is alone."""
        now = self._clock()
        used_until = min(self._used_until.get(org_id, now), now + _BURST_SECONDS)
        self._used_until[org_id] = max(used_until, now) + seconds / LOOP_SHARE
        if len(self._used_until) > _FORGET_ABOVE:
            self._used_until = {known: until for known, until in self._used_until.items() if until > now}


class LoopRests:
    """Leaves half of the event loop's time to everything else: all tasks that are ready run in one turn of the loop,
    and together may be ahead by ``_AHEAD_SECONDS``. ``clock`` in seconds."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._until = 0.0

    def allows(self) -> bool:
        """Whether the next piece of work may run in the event loop."""
        return self._until <= self._clock() + _AHEAD_SECONDS

    def charge(self, seconds: float) -> None:
        """Records use."""
        self._until = max(self._until, self._clock()) + 2 * seconds
