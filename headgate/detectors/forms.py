"""Forms that are looked for in the same texts, one after another: one pass tells which of them stand there at all."""

from typing import Final

from regorus import BytePattern, PatternSet, SetMatches


class SearchedText(bytes):
    """A text that knows which forms stand in it. One that does not is found nowhere in it, without a pass."""

    matches: SetMatches


class Forms:
    """The states of all together must be few, whatever the text: no form reads prose word by word."""

    def __init__(self) -> None:
        self._known: list[BytePattern] = []
        self._set: PatternSet | None = None

    def add(self, pattern: bytes) -> BytePattern:
        """Before the first text."""
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
