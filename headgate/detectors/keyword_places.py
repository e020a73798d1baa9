"""Where keywords stand, found in slices: a text of nothing but keywords would make millions of places at once."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from regorus import KeywordSearch

_SLICE_BYTES: Final = 32 << 10


def keyword_places(search: KeywordSearch, buffer: bytes) -> Iterator[tuple[int, int]]:
    """Where each one ends, and its number, in the order of the ends (``regorus.KeywordSearch``)."""
    starts = range(0, len(buffer), _SLICE_BYTES)
    return chain.from_iterable(search.search(buffer, start, start + _SLICE_BYTES) for start in starts)
