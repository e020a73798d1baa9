"""How much a client may have a process look at for nothing: frames of HTTP/2 that ask for nothing.

Pings, settings, priorities, empty data and resets keep a process busy that serves others too: some 20 s for 2 MB of
them (RFC 9113, 10.5; CVE-2019-9512, 9513, 9515, 9518, CVE-2023-44487).
"""

from collections.abc import Mapping
from typing import Final

from h2 import events

BURST: Final = 2000
PER_SECOND: Final = 1000

_COSTS: Final[Mapping[type[events.Event], int]] = {
    events.PingReceived: 1,
    events.RemoteSettingsChanged: 1,
    events.PriorityUpdated: 1,
    events.UnknownFrameReceived: 1,
    events.StreamReset: 10,  # a stream was made, and may have been decided about
}
"""Of frames that a client may send as fast as it likes, in pings. Not of window updates: every download needs many."""


def cost_of(event: events.Event) -> int:
    """In pings; 0: it asks for something, or belongs to what did."""
    if type(event) is events.DataReceived and not event.data and not event.stream_ended:
        return 1
    return _COSTS.get(type(event), 0)


class FrameAllowance:
    """Of one connection. ``BURST`` may come at once, and comes back with time; never more than that, so that whoever
    was silent for an hour has not saved up for a flood. ``now_seconds``: of a clock that only goes forward."""

    __slots__ = ("_known_at_seconds", "_spent")

    def __init__(self, now_seconds: float) -> None:
        self._spent = 0.0
        self._known_at_seconds = now_seconds

    def spend(self, cost: int, now_seconds: float) -> bool:
        """Whether there was so much left."""
        earned_back = PER_SECOND * (now_seconds - self._known_at_seconds)
        self._spent = max(0.0, self._spent - earned_back) + cost
        self._known_at_seconds = now_seconds
        return self._spent <= BURST
