"""Rows about persons in which nothing says what a cell is: a name, a date of birth, numbers, between the signs of a
table or the tags of XML (``<a>Ines Moreau</a><b>1948-07-18</b>``). The date is found first, as few cells are one.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from headgate.detectors.context_words import ContextWords
from headgate.detectors.forms import FORMS
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.national_numbers import national_numbers

_NEAR_BYTES: Final = 160
_ROWS_MAX: Final = 500
_FOUND: Final = 0.9
_BIRTH: Final = FORMS.add(
    rb"[>;|,\t] ?(?:(?:19[2-9][0-9]|200[0-9])[-/.][01][0-9][-/.][0-3][0-9]"
    rb"|[0-3][0-9][-/.][0-3][0-9][-/.](?:19[2-9][0-9]|200[0-9]))(?: ?[<;|,\t\r\n]|$)"
)
_BREAK: Final = re.compile(rb"[\r\n\x00]")
_NAME: Final = re.compile(
    rb"(?:[>;|,:\t\n\"] ?|^)"
    rb"([A-Z][a-z\x80-\xff'-]{1,24}(?: [A-Z][\w\x80-\xff'.-]{0,24}| (?:de|da|del|van|von|der|la)){1,3})"
    rb"(?= ?[<;|,\t\r\n\"]|$)"
)
_NUMBER: Final = re.compile(rb"(?:[>;|,\t\n\"] ?|^)([0-9][0-9 ./-]{5,12}[0-9A-Z]{1,2})(?= ?[<;|,\t\r\n\"]|$)")


class Row(Struct, frozen=True):
    """``start`` and ``end``: of the date of birth. ``line``: where what is near it on its line begins and ends."""

    start: int
    end: int
    name: bytes
    line: tuple[int, int]


def unnamed_rows(buffer: bytes, budget: Budget) -> Iterator[Row]:
    """The rows in which a name stands beside the date of birth."""
    for number, birth in enumerate(_BIRTH.finditer(buffer)):
        if number >= _ROWS_MAX or not budget.allows_candidate():
            return
        start, end = _line(buffer, birth.start(), birth.end())
        row = buffer[start:end]
        name = _NAME.search(row)
        if name is not None:
            yield Row(birth.start() + 1, birth.end() - 1, name[1], (start, end))


def find_numbers_in_rows(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    """National numbers whose checksum is right, beside a name and a date of birth. Checksums cost most: each place is
    read once, though dates near each other have it in common, and each value once."""
    places: set[tuple[int, int]] = set()
    kinds: dict[bytes, str | None] = {}
    for row in unnamed_rows(buffer, budget):
        for place in _numbers(buffer, *row.line):
            if place in places:
                continue
            places.add(place)
            value = buffer[slice(*place)]
            if value not in kinds:
                kinds[value] = _kind(value)
            kind = kinds[value]
            if kind is not None:
                yield Match(kind, *place, _FOUND)


def _numbers(buffer: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the cells with numbers begin and end."""
    for one in _NUMBER.finditer(buffer[start:end]):
        yield start + one.start(1), start + one.end(1)


def _kind(value: bytes) -> str | None:
    for number in national_numbers().known:
        is_one = number.check is not None and number.loose is not None and number.loose.fullmatch(value) is not None
        if is_one and number.is_valid(value.decode()):
            return number.kind
    return None


def _line(buffer: bytes, start: int, end: int) -> tuple[int, int]:
    """The line about a date, of a long one what is near."""
    first, last = max(0, start - _NEAR_BYTES), min(len(buffer), end + _NEAR_BYTES)
    before = [one.end() for one in _BREAK.finditer(buffer, first, start)]
    after = _BREAK.search(buffer, end - 1, last)
    return (before[-1] if before else first), (last if after is None else after.start())
