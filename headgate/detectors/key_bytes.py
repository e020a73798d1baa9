"""Private keys as lists of bytes: key pairs of Solana are stored so (``id.json``), as 64 numbers from 0 to 255.

Numbers are no texts, so other detectors do not see them.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from headgate.kernel.canonical_json import JsonValue

KEY_BYTES: Final = "key_bytes"
_SIZE: Final = 64
_DISTINCT_MIN: Final = 44
"""Of 64 random bytes 56 differ on average; fewer than 44 once in some ten million."""
_FALLS: Final = range(20, 44)
"""How often a number is followed by a smaller one: by chance in half of the places, in a curve or a count seldom."""
_LOW: Final = 48
_HIGH: Final = 208
_VISITED_MAX: Final = 2000


def names_of_keys(value: JsonValue) -> Iterator[str]:
    """The names of the members that hold such a list; ``body`` where it is the body."""
    stack: list[tuple[str, JsonValue]] = [("body", value)]
    for _ in range(_VISITED_MAX):
        if not stack:
            return
        name, one = stack.pop()
        if isinstance(one, dict):
            stack.extend((str(key), member) for key, member in one.items())
        elif isinstance(one, list):
            if len(one) == _SIZE and _is_random(one):
                yield name
            elif len(one) <= _VISITED_MAX:
                stack.extend((name, item) for item in one if isinstance(item, dict | list))


def _is_random(items: list[JsonValue]) -> bool:
    if not all(type(item) is int and 0 <= item < 256 for item in items):
        return False
    numbers = {int(item) for item in items}  # type: ignore[arg-type]  # checked above
    falls = sum(one > other for one, other in pairwise(items))  # type: ignore[operator]
    return len(numbers) >= _DISTINCT_MIN and min(numbers) < _LOW and max(numbers) > _HIGH and falls in _FALLS
