"""Where in a buffer the words stand that say what a number near them is: all of them in one pass."""

import string
from bisect import bisect_left
from functools import cache
from typing import Final

from msgspec import Struct
from regorus import KeywordSearch

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.document import SEPARATOR
from headgate.detectors.keyword_places import keyword_places

_BEFORE_BYTES: Final = 64
_AFTER_BYTES: Final = 24
_STANDS_ALONE_LENGTH: Final = 4
_ALPHANUMERIC: Final = (string.ascii_letters + string.digits).encode()


@cache
def personal_data_document() -> Section:
    """Raises ValidationError."""
    document = read_document(resource_path("detectors", "personal_data.yaml"))
    document.only("context", "numbers")
    return document


class ContextWords(Struct, frozen=True):
    """The ends of the words of each kind, in the order of the buffer."""

    ends: dict[str, list[int]]

    def has(self, kind: str) -> bool:
        return kind in self.ends

    def near(self, kind: str, start: int, end: int, buffer: bytes, *, before: int = _BEFORE_BYTES) -> bool:
        """Whether such a word stands before, or shortly after, in the same text."""
        ends = self.ends.get(kind)
        if ends is None:
            return False
        at = bisect_left(ends, start - before)
        if at == len(ends):
            return False
        if ends[at] <= start:
            last = ends[bisect_left(ends, start + 1) - 1]
            return SEPARATOR not in buffer[last:start]
        return ends[at] <= end + _AFTER_BYTES and SEPARATOR not in buffer[end : ends[at]]

    def before(self, kind: str, start: int, buffer: bytes, *, within: int) -> bool:
        """Whether such a word stands before it, not further away than ``within`` bytes, in the same text."""
        ends = self.ends.get(kind)
        if ends is None:
            return False
        at = bisect_left(ends, start + 1) - 1
        return at >= 0 and ends[at] >= start - within and SEPARATOR not in buffer[ends[at] : start]


def context_words(buffer: bytes) -> ContextWords:
    search, kinds_of = _search()
    ends: dict[str, list[int]] = {}
    for end, number in keyword_places(search, buffer):
        for kind in kinds_of[number]:
            ends.setdefault(kind, []).append(end)
    return ContextWords(ends)


@cache
def _search() -> tuple[KeywordSearch, list[tuple[str, ...]]]:
    """For all words, and the kinds of each."""
    words: dict[bytes, list[str]] = {}
    context = personal_data_document().section("context")
    for kind in context.members:
        for word in context.strings(kind):
            for spelling in {word.lower().encode(), word.upper().encode().lower()}:
                words.setdefault(spelling, []).append(kind)
    borders = [(word, True, len(word.decode()) <= _STANDS_ALONE_LENGTH) for word in words]
    return KeywordSearch(borders, _ALPHANUMERIC), [tuple(dict.fromkeys(kinds)) for kinds in words.values()]
