"""How a folded text is cut for the learned windows: tokens, and pieces of sentences, each with its place.

A feature is a number of 32 bits: of a word, of its beginnings and endings, of its character n-grams (n-grams stay
within words), of two tokens in a row, of a class of ``injection.yaml``. Training and detection share these functions.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from zlib import crc32

PIECE_TOKENS: Final = 24
"""A piece without an end of a sentence is cut here."""

_UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff"
_TOKEN: Final = re.compile(
    rf" *(?:\n[ \n]*|\0[ \n]*|[{_UNSPACED}]|[^\W\d_{_UNSPACED}]{{1,24}}|\d{{1,32}}|[.!?;:] |[^\w ]|_)| +"
)
_ENDS: Final = frozenset((".", "!", "?", ";", ":", "|", "\u3002", "\uff01", "\uff1f", "\uff1b"))
_CLOSED_BY_SPACE: Final = frozenset((".", "!", "?", ";", ":"))
_SLICE_CHARACTERS: Final = 32_768
PAIR_FACTOR: Final = 0x9E3779B1
KEY_MASK: Final = 0xFFFFFFFF
_GRAMS: Final = (3, 4, 5)

LINE: Final = "\n"
TEXT: Final = "\0"


class Token(NamedTuple):
    """``word``: as features name it. ``ends_piece``, ``ends_text``: whether a piece, or the text, ends after it."""

    word: str
    ends_piece: bool
    ends_text: bool


def lined(folded: str, text: str) -> str:
    """The folded text with the line breaks of ``text``, and one at its end."""
    at = 0
    lines = []
    for line in text.split("\n"):
        lines.append(folded[at : at + len(line)])
        at += len(line) + 1
    return "\n".join(lines) + "\n"


def tokens_of(lined_text: str) -> Iterator[list[str]]:
    """Together they are the text. In slices: a regular expression over a megabyte would hold the interpreter's lock."""
    for start in range(0, len(lined_text), _SLICE_CHARACTERS):
        yield _TOKEN.findall(lined_text[start : start + _SLICE_CHARACTERS])


def token_of(raw: str) -> Token:
    bare = raw.strip(" ")
    first = bare[:1]
    if first in (LINE, TEXT):
        return Token(LINE, True, first == TEXT)
    if first.isdigit():
        return Token("0", False, False)
    ends = bare in _ENDS and (bare not in _CLOSED_BY_SPACE or raw.endswith(" "))
    return Token(bare, ends, False)


def word_keys(word: str) -> tuple[int, ...]:
    """Of the word, and of its beginnings and its ending."""
    keys = [crc32(f"w{word}".encode())]
    if word.isalpha():
        if len(word) > 4:
            keys += [crc32(f"b{word[:4]}".encode()), crc32(f"e{word[-3:]}".encode())]
        if len(word) > 6:
            keys.append(crc32(f"b{word[:6]}".encode()))
    return tuple(keys)


def gram_keys(word: str) -> tuple[int, ...]:
    """Of the character n-grams of a word."""
    if not word.isalpha():
        return ()
    spaced = f" {word} "
    return tuple(
        crc32(f"g{spaced[at : at + size]}".encode()) for size in _GRAMS for at in range(len(spaced) - size + 1)
    )


def class_key(name: str) -> int:
    return crc32(f"k{name}".encode())


def pair_key(before: int, key: int) -> int:
    """Of two words in a row, by the first keys of both."""
    return (before * PAIR_FACTOR + key) & KEY_MASK
