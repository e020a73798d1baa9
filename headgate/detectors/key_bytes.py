"""Private keys as lists of bytes: key pairs of Solana are stored so (``id.json``), as 64 numbers from 0 to 255.

Numbers are no texts, so other detectors do not see them.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from regorus import integer_lists

from headgate.kernel.canonical_json import JsonValue

KEY_BYTES: Final = "key_bytes"
_SIZE: Final = 64
_DISTINCT_MIN: Final = 44
"""Of 64 random bytes 56 differ on average; fewer than 44 once in some ten million."""
_FALLS: Final = range(20, 44)
"""How often a number is followed by a smaller one: by chance in half of the places, in a curve or a count seldom."""
_TURNS_MIN: Final = 24
"""How often the direction changes: of 64 random bytes in 41 places, in a curve or a count in a few."""
_LOW: Final = 48
_HIGH: Final = 208
_VISITED_MAX: Final = 2000


def names_of_keys(value: JsonValue) -> Iterator[str]:
    """The names of the members that hold such a list; ``body`` where it is the body."""
    for name, numbers in integer_lists(value, _SIZE, _VISITED_MAX):
        if is_random(numbers):
            yield "body" if name is None else name


def is_random(numbers: bytes) -> bool:
    """Whether some 64 bytes are drawn by chance, and are no curve, count or picture."""
    falling = [one > other for one, other in pairwise(numbers)]
    turns = sum(one is not other for one, other in pairwise(falling))
    is_drawn = sum(falling) in _FALLS and turns >= _TURNS_MIN
    return is_drawn and len({*numbers}) >= _DISTINCT_MIN and min(numbers) < _LOW and max(numbers) > _HIGH
