"""Where in a buffer the words stand that say what a number near them is: all of them in one pass."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from typing import Final

import ahocorasick

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.document import SEPARATOR
from headgate.detectors.keyword_search import keywords_in

_BEFORE_BYTES: Final = 64
_AFTER_BYTES: Final = 24
_STANDS_ALONE_LENGTH: Final = 4


@cache
def personal_data_document() -> Section:
    """Raises ValidationError."""
    document = read_document(resource_path("detectors", "personal_data.yaml"))
    document.only("context", "numbers")
    return document


@dataclass(frozen=True, slots=True)
class ContextWords:
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
    ends: dict[str, list[int]] = {}
    text = buffer.lower().decode("latin-1")
    size = len(text)
    for last, (length, alone, kinds) in keywords_in(text, _automaton()):
        start = last + 1 - length
        if start and text[start - 1].isalnum() and text[start - 1].isascii():
            continue
        if alone and last + 1 < size and text[last + 1].isalnum() and text[last + 1].isascii():
            continue
        for kind in kinds:
            ends.setdefault(kind, []).append(last + 1)
    return ContextWords(ends)


@cache
def _automaton() -> ahocorasick.Automaton:
    words: dict[bytes, list[str]] = {}
    context = personal_data_document().section("context")
    for kind in context.members:
        for word in context.strings(kind):
            for spelling in {word.lower().encode(), word.upper().encode().lower()}:
                words.setdefault(spelling, []).append(kind)
    automaton = ahocorasick.Automaton()
    for word_bytes, kinds in words.items():
        alone = len(word_bytes.decode()) <= _STANDS_ALONE_LENGTH
        automaton.add_word(word_bytes.decode("latin-1"), (len(word_bytes), alone, tuple(dict.fromkeys(kinds))))
    automaton.make_automaton()
    return automaton
