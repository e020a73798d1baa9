"""Texts that the address of a call carries in pieces: a word or a character for each segment or parameter, an encoded
text cut into parameters, hexadecimal in the form of UUIDs.
"""

import base64
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from regorus import from_base64

from headgate.detectors.prose import prose

_PIECES_MIN: Final = 3
_PIECE_MIN: Final = 4
_WORDS_MIN: Final = 10
_FUNCTION_WORDS_MIN: Final = 4
_PARTS_MIN: Final = 4
_PARTS_WORDS_MIN: Final = 14
_PARTS_FUNCTION_WORDS_MIN: Final = 3
_SERIES_SIGNS: Final = ("#", "?")
_WORD: Final = re.compile(r"[^\W\d_][\w'-]{0,20}[.,:;!?]?")
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_UUID: Final = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}"
)
_CODE: Final = re.compile(r"(?:0x|x|u00|\\x)([0-9a-fA-F]{2})")
_CODES_MIN: Final = 8
_CHARACTERS_MIN: Final = 12
_SHARDS: Final = frozenset("0123456789abcdef")
"""Files are kept below the first digits of their digests, one for each folder."""
_NUMBERED: Final = re.compile(r"(.*?)[_.-]?(?:[0-9]{1,3}|\[[0-9]*\])")


def joined_pieces(texts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Encoded values of parameters that differ in a number or are one letter, as one text; UUIDs as one."""
    for _, group in groupby(texts, lambda one: _series(one[0])):
        values = [value for _, value in group]
        if len(values) < _PIECES_MIN or not all(
            len(one) >= _PIECE_MIN and _ENCODED.fullmatch(one) is not None for one in values[:-1]
        ):
            continue
        yield "".join(one.rstrip("=") for one in values)
        if (whole := _decoded_one_by_one(values)) is not None:
            yield base64.b64encode(whole).decode()
    yield from joined_uuids([value for _, value in texts])


def joined_uuids(values: Sequence[str]) -> Iterator[str]:
    found = [one.replace("-", "") for one in values if _UUID.fullmatch(one) is not None]
    if len(found) > 1:
        yield "".join(found)


def words_in_pieces(values: Sequence[str]) -> str | None:
    """The sentence whose words stand in one piece each, in a row."""
    for is_word, group in groupby(values, lambda one: _WORD.fullmatch(one) is not None):
        words = [*group]
        if is_word and len(words) >= _WORDS_MIN and _function_words(words) >= _FUNCTION_WORDS_MIN:
            return " ".join(words)
    return None


def characters_in_pieces(values: Sequence[str]) -> str | None:
    """The text of which each piece is one character, or its code in hexadecimal, in a row."""
    for kind, group in groupby(values, _kind_of_character):
        pieces = [*group]
        if kind == "code" and len(pieces) >= _CODES_MIN:
            text = bytes(int(found[1], 16) for one in pieces if (found := _CODE.fullmatch(one))).decode("latin-1")
            if text.isprintable() and text.isascii():
                return text
        if kind == "character" and len(pieces) >= _CHARACTERS_MIN and not _SHARDS.issuperset(pieces):
            return "".join(pieces)
    return None


def sentences_in_series(texts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Parts of sentences in values of parameters that differ in a number or are one letter, as one text."""
    for series, group in groupby(texts, lambda one: _series(one[0])):
        values = [value for _, value in group]
        if len(values) < _PARTS_MIN or series[-1:] not in _SERIES_SIGNS:
            continue
        words = [value.split() for value in values]
        whole = [word for part in words for word in part]
        if (
            sum(len(part) > 1 for part in words) >= _PARTS_MIN
            and len(whole) >= _PARTS_WORDS_MIN
            and _function_words(whole) >= _PARTS_FUNCTION_WORDS_MIN
        ):
            yield " ".join(values)


def _kind_of_character(piece: str) -> str:
    if _CODE.fullmatch(piece) is not None:
        return "code"
    return "character" if len(piece) == 1 else ""


def _decoded_one_by_one(values: Sequence[str]) -> bytes | None:
    decoded = [from_base64(one.rstrip("=").encode()) for one in values]
    return None if None in decoded else b"".join(one for one in decoded if one is not None)


def _function_words(words: Sequence[str]) -> int:
    return len(prose().function_words.intersection(one.lower().rstrip(".,:;!?") for one in words))


def _series(name: str) -> str:
    """What names of one series have in common."""
    if len(name) == 1:
        return "?"
    match = _NUMBERED.fullmatch(name)
    return name if match is None else f"{match[1]}#"
