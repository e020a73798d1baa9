"""Where keywords stand, found in slices: a text of nothing but keywords would make millions of places at once."""

from collections.abc import Iterator
from typing import Final

from regorus import KeywordSearch

_SLICE_BYTES: Final = 32 << 10


def keyword_places(search: KeywordSearch, buffer: bytes) -> Iterator[tuple[int, int]]:
    """Where each one ends, and its number, in the order of the ends (``regorus.KeywordSearch``)."""
    for start in range(0, len(buffer), _SLICE_BYTES):
        yield from search.search(buffer, start, start + _SLICE_BYTES)
