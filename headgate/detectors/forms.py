"""Patterns that are looked for in the same texts: one pass tells which of them match at all."""

from typing import Final

from regorus import BytePattern, PatternSet, SetMatches


class SearchedText(bytes):
    """Bytes that know which patterns of one group match them. Another one returns at once, without reading them."""

    matches: SetMatches


class Forms:
    """Patterns that one pass looks for together. Add none that reads prose, or the start of each line, word by word:
    the automaton would need too many states."""

    def __init__(self) -> None:
        self._known: list[BytePattern] = []
        self._set: PatternSet | None = None

    def add(self, pattern: bytes) -> BytePattern:
        """While modules are imported: the first text compiles the set, and what is added later is not in it."""
        self._known.append(BytePattern(pattern))
        return self._known[-1]

    def text(self, text: bytes) -> SearchedText:
        if self._set is None:
            self._set = PatternSet(self._known)
        searched = SearchedText(text)
        searched.matches = SetMatches(self._set)
        return searched


FORMS: Final = Forms()
"""What detectors look for."""
ENCODINGS: Final = Forms()
"""What decoders look for."""
