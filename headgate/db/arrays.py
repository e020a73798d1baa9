"""PostgreSQL's binary array format, encoded by hand.

A driver's parameter adaptation costs five times the statement itself for a batch of small rows (measured),
hence these few lines. Format: ``array_send`` and the element types' send functions in
the PostgreSQL sources: dimensions, null flag, element type, length, lower bound, then length-prefixed elements.
"""

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import NoneType
from typing import Annotated, Any, Final, NamedTuple, get_args, get_type_hints

_HEADER: Final = struct.Struct(">iiIii")
_EMPTY: Final = struct.Struct(">iiI")
_LENGTH: Final = struct.Struct(">i")
_INT8: Final = struct.Struct(">iq")
_NULL: Final = b"\xff\xff\xff\xff"
_TRUE: Final = b"\x00\x00\x00\x01\x01"
_FALSE: Final = b"\x00\x00\x00\x01\x00"
_POSTGRES_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)

_BOOL, _BYTEA, _INT8_OID, _TEXT, _TIMESTAMPTZ = 16, 17, 20, 25, 1184
_TEXT_ARRAY, _BYTEA_ARRAY, _INT8_ARRAY, _BOOL_ARRAY, _TIMESTAMPTZ_ARRAY = 1009, 1001, 1016, 1000, 1185

Utf8 = Annotated[bytes, "UTF-8"]
"""A text that is encoded already; in a row it becomes ``text``, where other bytes become ``bytea``."""


def _array[Item](element_type: int, items: Sequence[Item | None], encode: Callable[[Item], bytes]) -> bytes:
    if len(items) == 1:  # the most common batch by far, where requests come one after the other
        item = items[0]
        return _HEADER.pack(1, 1, element_type, 1, 1) + (_NULL if item is None else encode(item))
    if not items:
        return _EMPTY.pack(0, 0, element_type)
    pieces = [_HEADER.pack(1, 1, element_type, len(items), 1)]
    pieces += [_NULL if item is None else encode(item) for item in items]
    return b"".join(pieces)


def _text(item: str) -> bytes:
    encoded = item.encode()
    return _LENGTH.pack(len(encoded)) + encoded


def _bytes(item: bytes) -> bytes:
    return _LENGTH.pack(len(item)) + item


def _instant(item: datetime) -> bytes:
    since = item - _POSTGRES_EPOCH
    return _INT8.pack(8, (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


def text_array(items: Sequence[str | None]) -> bytes:
    """``text[]``. The caller keeps NUL out (canonical JSON escapes it)."""
    return _array(_TEXT, items, _text)


def utf8_array(items: Sequence[bytes | None]) -> bytes:
    """``text[]`` of strings that are UTF-8 already."""
    return _array(_TEXT, items, _bytes)


def bytea_array(items: Sequence[bytes | None]) -> bytes:
    """``bytea[]``."""
    return _array(_BYTEA, items, _bytes)


def int8_array(items: Sequence[int | None]) -> bytes:
    """``bigint[]``."""
    return _array(_INT8_OID, items, lambda item: _INT8.pack(8, item))


def bool_array(items: Sequence[bool | None]) -> bytes:
    """``boolean[]``."""
    return _array(_BOOL, items, lambda item: _TRUE if item else _FALSE)


def timestamptz_array(items: Sequence[datetime | None]) -> bytes:
    """``timestamptz[]`` of aware instants, to the microsecond."""
    return _array(_TIMESTAMPTZ, items, _instant)


class Column(NamedTuple):
    """One parameter of a batch: ``array_type`` is for preparing the statement, ``encode`` makes its value."""

    array_type: int
    encode: Callable[[Sequence[Any]], bytes]


_COLUMNS: Final[dict[object, Column]] = {
    str: Column(_TEXT_ARRAY, text_array),
    Utf8: Column(_TEXT_ARRAY, utf8_array),
    bytes: Column(_BYTEA_ARRAY, bytea_array),
    int: Column(_INT8_ARRAY, int8_array),
    bool: Column(_BOOL_ARRAY, bool_array),
    datetime: Column(_TIMESTAMPTZ_ARRAY, timestamptz_array),
}


def columns_of(row: type[tuple[object, ...]]) -> tuple[Column, ...]:
    """The arrays that rows of this NamedTuple become, in the order of its fields. Raises KeyError for other types."""
    return tuple(_COLUMNS[_without_none(hint)] for hint in get_type_hints(row, include_extras=True).values())


def _without_none(hint: object) -> object:
    members = [member for member in get_args(hint) if member is not NoneType]
    return members[0] if NoneType in get_args(hint) else hint
