"""Numbers of persons whose name is another value: in the cell above (a column of a table), or beside it, as in
``{"system": "http://hl7.org/fhir/sid/us-ssn", "value": "…"}``.
"""

from collections.abc import Iterator
from typing import Final

from headgate.detectors.context_words import ContextWords
from headgate.detectors.document import SEPARATOR
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.national_numbers import NationalNumber, national_numbers

_NEAR: Final = 0.9
_HEADING_MAX: Final = 96
_HEADINGS_MAX: Final = 32
_COLUMN_BYTES: Final = 8192
_COLUMN_MIN: Final = 2
"""Of numbers below a heading; one could be of the next column."""
_VALUE_LABELS: Final = (b"value", b"number", b"text", b"content", b"data")
_SIGN: Final = b": "


def find_headed_numbers(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    for number in national_numbers().known:
        for word_end in words.ends.get(number.kind, ())[:_HEADINGS_MAX]:
            if not budget.allows_candidate():
                return
            heading = _piece(buffer, max(0, buffer.rfind(SEPARATOR, 0, word_end)))
            if heading is None or word_end <= heading[1] or heading[2] - heading[1] > _HEADING_MAX:
                continue
            yield from _beside(buffer, heading, number)
            yield from _below(buffer, heading, number)


type _Piece = tuple[bytes, int, int]
"""Its label, and where its value begins and ends."""


def _piece(buffer: bytes, at: int) -> _Piece | None:
    """The one that begins at ``at``, or behind the separator there."""
    start = at + len(SEPARATOR) if buffer.startswith(SEPARATOR, at) else at
    if start >= len(buffer):
        return None
    end = buffer.find(SEPARATOR, start)
    end = len(buffer) if end < 0 else end
    sign = buffer.find(_SIGN, start, end)
    return (b"", start, end) if sign < 0 else (buffer[start:sign], sign + len(_SIGN), end)


def _beside(buffer: bytes, heading: _Piece, number: NationalNumber) -> Iterator[Match]:
    piece = _piece(buffer, heading[2])
    if piece is not None and piece[0].lower().endswith(_VALUE_LABELS) and _is_one(buffer, piece, number):
        yield Match(number.kind, piece[1], piece[2], _NEAR)


def _below(buffer: bytes, heading: _Piece, number: NationalNumber) -> Iterator[Match]:
    found = list[Match]()
    piece = _piece(buffer, heading[2])
    while piece is not None and piece[0] == heading[0] and piece[2] < heading[2] + _COLUMN_BYTES:
        if _is_one(buffer, piece, number):
            found.append(Match(number.kind, piece[1], piece[2], _NEAR))
        piece = _piece(buffer, piece[2])
    if len(found) >= _COLUMN_MIN:
        yield from found


def _is_one(buffer: bytes, piece: _Piece, number: NationalNumber) -> bool:
    value = buffer[piece[1] : piece[2]]
    fits = any(one is not None and one.fullmatch(value) is not None for one in (number.strict, number.loose))
    return fits and number.is_valid(value.decode())
