"""Keywords in a large text, found by an Aho-Corasick automaton in pieces."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Protocol

_PIECE_CHARACTERS: Final = 32_768


class Automaton[Found](Protocol):
    """Of ``pyahocorasick``."""

    def __hash__(self) -> int: ...

    def iter(self, text: str, /) -> Iterator[tuple[int, Found]]: ...

    def get_stats(self) -> Mapping[str, int]: ...


def keywords_in[Found](text: str, automaton: Automaton[Found]) -> Iterator[tuple[int, Found]]:
    """The position of the last character of each keyword, and what the automaton holds for it. In pieces: a search
    holds the interpreter's lock until it finds something.

    A piece begins so far before the end of the one before that no keyword is missed. The library's own way to go on,
    ``set``, frees memory that is not its own where a later piece has characters beyond the BMP and the first has none
    (2.3.1): one emoji in a long text ended the process.
    """
    overlap = _longest(automaton) - 1
    for at in range(0, len(text), _PIECE_CHARACTERS):
        start = max(0, at - overlap)
        for end, found in automaton.iter(text[start : at + _PIECE_CHARACTERS]):
            if start + end >= at:
                yield start + end, found


@lru_cache(maxsize=64)
def _longest(automaton: Automaton[object]) -> int:
    return max(1, automaton.get_stats()["longest_word"])
