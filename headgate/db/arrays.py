"""PostgreSQL's binary array format, encoded by hand.

A driver's parameter adaptation costs five times the statement itself for a batch of small rows (measured),
hence these few lines. Format: ``array_send`` and the element types' send functions in
the PostgreSQL sources: dimensions, null flag, element type, length, lower bound, then length-prefixed elements.
"""

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

_HEADER: Final = struct.Struct(">iiIii")
_EMPTY: Final = struct.Struct(">iiI")
_LENGTH: Final = struct.Struct(">i")
_INT8: Final = struct.Struct(">iq")
_NULL: Final = b"\xff\xff\xff\xff"
_TRUE: Final = b"\x00\x00\x00\x01\x01"
_FALSE: Final = b"\x00\x00\x00\x01\x00"
_POSTGRES_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)

_BOOL, _BYTEA, _INT8_OID, _TEXT, _TIMESTAMPTZ = 16, 17, 20, 25, 1184
TEXT_ARRAY, BYTEA_ARRAY, INT8_ARRAY, BOOL_ARRAY, TIMESTAMPTZ_ARRAY = 1009, 1001, 1016, 1000, 1185
"""Type identifiers of the array types, for preparing a statement."""


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
