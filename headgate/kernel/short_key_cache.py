"""A cache of functions of one text that clients choose: bounded in entries, and in the length of each.

``functools.lru_cache`` bounds entries only. A client that sends another name of a megabyte each time would have it keep
gigabytes, which no budget counts.
"""

from collections.abc import Callable, Sized
from functools import lru_cache, wraps

KEY_LENGTH_MAX = 256
"""Bytes or characters of a text that is kept; the value of a longer one is made anew each time."""


def short_key_cache[K: Sized, R](
    entries_max: int, length_max: int = KEY_LENGTH_MAX
) -> Callable[[Callable[[K], R]], Callable[[K], R]]:
    def decorate(function: Callable[[K], R]) -> Callable[[K], R]:
        cached = lru_cache(entries_max)(function)

        @wraps(function)
        def call(key: K) -> R:
            return cached(key) if len(key) <= length_max else function(key)  # type: ignore[arg-type]  # hashable

        return call

    return decorate
