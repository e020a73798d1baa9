"""Keywords in a large text, found by an Aho-Corasick automaton in pieces."""

from collections.abc import Iterator
from typing import Final, Protocol

_PIECE_CHARACTERS: Final = 32_768


class Search[Found](Iterator[tuple[int, Found]], Protocol):
    """Of ``pyahocorasick``; ``set`` goes on in the middle of a word, and counts on."""

    def set(self, text: str, /) -> None: ...


class Automaton[Found](Protocol):
    def iter(self, text: str, /) -> Search[Found]: ...


def keywords_in[Found](text: str, automaton: Automaton[Found]) -> Iterator[tuple[int, Found]]:
    """The position of the last character of each keyword, and what the automaton holds for it. In pieces: a search
    holds the interpreter's lock until it finds something."""
    search = automaton.iter(text[:_PIECE_CHARACTERS])
    yield from search
    for at in range(_PIECE_CHARACTERS, len(text), _PIECE_CHARACTERS):
        search.set(text[at : at + _PIECE_CHARACTERS])
        yield from search
