"""The characters of Unicode's categories that tables of detectors are made of (Unicode Standard, section 4.5)."""

import unicodedata
from functools import cache
from itertools import chain
from typing import Final

_CATEGORIES: Final = ("Cf", "Nd", "Zs", "Mn", "Me")
_TAGS_START: Final = 0xE0000
TAGS: Final = range(_TAGS_START, _TAGS_START + 0x1000)
_CODES: Final = (
    range(0x80, 0x3400),
    # Between them stand ideographs, syllables, surrogates, private use: none of these categories, and a third of all.
    range(0xA000, 0xAC00),
    range(0xF900, 0x17000),
    range(0x18D00, 0x20000),
    TAGS,
)


@cache
def characters_of(category: str) -> tuple[int, ...]:
    """From U+0080, of planes 0 and 1 and the tags. Raises KeyError for a category that no table needs."""
    return tuple(_by_category()[category])


@cache
def _by_category() -> dict[str, list[int]]:
    """In one pass: each takes as long as the rest of a table."""
    found: dict[str, list[int]] = {category: [] for category in _CATEGORIES}
    codes = list(chain.from_iterable(_CODES))
    for code, category in zip(codes, map(unicodedata.category, map(chr, codes)), strict=True):
        if category in found:
            found[category].append(code)
    return found
