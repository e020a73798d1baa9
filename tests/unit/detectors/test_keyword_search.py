"""A long text is searched in pieces, and says what a search of the whole would."""

import random

import ahocorasick
import pytest

from headgate.detectors.keyword_search import keywords_in

_WORDS = ["ab", "abc", "b", "secret", "\u00e9t\u00e9", "\U0001f600b", "a" * 40]
_LETTERS = {
    "ascii": "abc secrt",
    "latin": "abc \u00e9t",
    "bmp": "abc \u4e00",
    "beyond": "ab \U0001f600",
}


@pytest.fixture(scope="module")
def automaton() -> ahocorasick.Automaton:
    made = ahocorasick.Automaton()
    for word in _WORDS:
        made.add_word(word, word)
    made.make_automaton()
    return made


@pytest.mark.parametrize("first", _LETTERS)
@pytest.mark.parametrize("second", _LETTERS)
@pytest.mark.parametrize("size", [0, 1, 32_767, 32_768, 32_769, 40_000])
def test_pieces_of_other_characters(automaton: ahocorasick.Automaton, first: str, second: str, size: int) -> None:
    """Strings of Python have 1, 2 or 4 bytes for a character, which the library reads differently."""
    rng = random.Random(size)  # noqa: S311 - repeatable, not secret
    text = "".join(rng.choices(_LETTERS[first], k=size)) + "".join(rng.choices(_LETTERS[second], k=40_000))
    assert sorted(keywords_in(text, automaton)) == sorted(automaton.iter(text))


@pytest.mark.parametrize("word", _WORDS)
def test_a_keyword_across_the_border_of_two_pieces(automaton: ahocorasick.Automaton, word: str) -> None:
    for before in range(32_768 - len(word) - 1, 32_768 + 2):
        text = "." * before + word + "\U0001f600" + "." * 100
        assert sorted(keywords_in(text, automaton)) == sorted(automaton.iter(text))
