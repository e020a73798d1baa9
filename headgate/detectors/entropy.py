"""How random a text looks (Shannon, bits a character)."""

import math
from collections import Counter


def bits_per_character(text: str | bytes) -> float:
    """0 for nothing or one character repeated; about 3.9 for hexadecimal, 5.5 for base62 of some length."""
    length = len(text)
    if length == 0:
        return 0.0
    counts = Counter(text).values()
    return math.log2(length) - sum(count * math.log2(count) for count in counts) / length
