"""Waiting for what becomes so, instead of for time to pass."""

import time
from collections.abc import Callable

_PAUSE_SECONDS = 0.03


def wait_for[Found](look: Callable[[], Found | None], what: str, *, seconds: float = 60) -> Found:
    """What ``look`` finds as soon as it is neither None nor False nor empty; fails with ``what`` in its text."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(_PAUSE_SECONDS)
