"""When a failed delivery is tried again: exponentially later, with jitter, until its time is over. Pure."""

from datetime import datetime, timedelta
from typing import Final

from headgate.kernel.backoff import Backoff

_BACKOFF: Final = Backoff(first_seconds=5, factor=3, cap_seconds=7200)


def next_attempt_at(
    attempt: int, now: datetime, give_up_at: datetime, *, chance: float, retry_after_seconds: float | None = None
) -> datetime | None:
    """After the ``attempt``-th attempt (from 1) failed; None: it is given up. ``chance`` in [0, 1).

    5 s, 15 s, 45 s … 2 h, each halved by up to a half (``Backoff``); a receiver that asks for more
    time gets it. The last attempt is at the end of the time, so that a receiver that is back by then is reached.
    """
    if now >= give_up_at:
        return None
    seconds = max(_BACKOFF.pause_seconds(attempt, chance), retry_after_seconds or 0.0)
    return min(now + timedelta(seconds=seconds), give_up_at)
