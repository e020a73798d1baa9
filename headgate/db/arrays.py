"""PostgreSQL's binary array format, encoded by hand.

A driver's parameter adaptation costs five times the statement itself for a batch of small rows (measured),
hence these few lines. Format: ``array_send`` and the element types' send functions in
the PostgreSQL sources: dimensions, null flag, element type, length, lower bound, then length-prefixed elements.
"""

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Annotated, Any, Final, NamedTuple, get_args, get_type_hints

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEADER: Final = struct.Struct(">iiIii")
_EMPTY: Final = struct.Struct(">iiI")
_LENGTH: Final = struct.Struct(">i")
_INT8: Final = struct.Struct(">iq")
NULL: Final = b"\xff\xff\xff\xff"
"""The element of a null."""
_TRUE: Final = b"\x00\x00\x00\x01\x01"
_FALSE: Final = b"\x00\x00\x00\x01\x00"
_POSTGRES_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)

_BOOL, _BYTEA, _INT8_OID, _TEXT, _TIMESTAMPTZ = 16, 17, 20, 25, 1184
_TEXT_ARRAY, _BYTEA_ARRAY, _INT8_ARRAY, _BOOL_ARRAY, _TIMESTAMPTZ_ARRAY = 1009, 1001, 1016, 1000, 1185

Utf8 = Annotated[bytes, "UTF-8"]
"""A text that is encoded already; in a row it becomes ``text``, where other bytes become ``bytea``."""


def _text(item: str) -> bytes:
    encoded = item.encode()
    return _LENGTH.pack(len(encoded)) + encoded


def _bytes(item: bytes) -> bytes:
    return _LENGTH.pack(len(item)) + item


def _integer(item: int) -> bytes:
    return _INT8.pack(8, item)


def _boolean(item: bool) -> bytes:
    return _TRUE if item else _FALSE


def _instant(item: datetime) -> bytes:
    """To the microsecond, of an aware instant."""
    since = item - _POSTGRES_EPOCH
    return _INT8.pack(8, (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


def instant_of(item: bytes) -> datetime:
    """Of an element of an array of instants."""
    return _POSTGRES_EPOCH + timedelta(microseconds=_INT8.unpack(item)[1])


def text_of(item: bytes) -> str:
    """Of an element of an array of texts."""
    return item[_LENGTH.size :].decode()


def element(value: str | bytes | bool) -> bytes:
    """One value as an element of its array."""
    if isinstance(value, bool):
        return _boolean(value)
    return _text(value) if isinstance(value, str) else _bytes(value)


def elements_of(elements: bytes) -> list[bytes]:
    """Elements that stand one behind the other. Raises ValueError where they do not end with one."""
    found: list[bytes] = []
    at = 0
    while at < len(elements):
        if at + _LENGTH.size > len(elements):
            raise ValueError("the bytes end within the length of an element")
        (size,) = _LENGTH.unpack_from(elements, at)
        after = at + _LENGTH.size + max(size, 0)
        found.append(elements[at:after])
        at = after
    if at != len(elements):
        raise ValueError("the bytes end within an element")
    return found


class Column(NamedTuple):
    """One parameter of a batch: ``array_type`` is for preparing the statement, ``element`` encodes one of its values.

    ``of_one`` is what the array of one row begins with: the most common batch by far, where requests come one after the
    other.
    """

    array_type: int
    element_type: int
    element: Callable[[Any], bytes]
    of_one: bytes

    def array(self, values: Sequence[object]) -> bytes:
        """The array of several rows."""
        pieces = [_HEADER.pack(1, 1, self.element_type, len(values), 1)]
        pieces += [NULL if value is None else self.element(value) for value in values]
        return b"".join(pieces)


def _column(array_type: int, element_type: int, element: Callable[[Any], bytes]) -> Column:
    return Column(array_type, element_type, element, _HEADER.pack(1, 1, element_type, 1, 1))


class EncodedArray:
    """An array whose elements are encoded already, as a parameter of any statement."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class _EncodedDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: EncodedArray) -> bytes:
        return obj.data


def _parameter_of(array_type: int) -> type[EncodedArray]:
    """The class of parameters of this type: psycopg chooses the type by the class."""
    made = type(f"EncodedArray{array_type}", (EncodedArray,), {"__slots__": ()})
    psycopg.adapters.register_dumper(made, type(f"_Dumper{array_type}", (_EncodedDumper,), {"oid": array_type}))
    return made


_PARAMETERS: Final = {
    array_type: _parameter_of(array_type)
    for array_type in (_TEXT_ARRAY, _BYTEA_ARRAY, _INT8_ARRAY, _BOOL_ARRAY, _TIMESTAMPTZ_ARRAY)
}


def array_of(column: Column, count: int, elements: bytes) -> EncodedArray:
    """``count`` elements, encoded, one behind the other."""
    head = _HEADER.pack(1, 1, column.element_type, count, 1) if count else _EMPTY.pack(0, 0, column.element_type)
    return _PARAMETERS[column.array_type](head + elements)


_COLUMNS: Final[dict[object, Column]] = {
    str: _column(_TEXT_ARRAY, _TEXT, _text),  # the caller keeps NUL out (canonical JSON escapes it)
    Utf8: _column(_TEXT_ARRAY, _TEXT, _bytes),
    bytes: _column(_BYTEA_ARRAY, _BYTEA, _bytes),
    int: _column(_INT8_ARRAY, _INT8_OID, _integer),
    bool: _column(_BOOL_ARRAY, _BOOL, _boolean),
    datetime: _column(_TIMESTAMPTZ_ARRAY, _TIMESTAMPTZ, _instant),
}
TEXTS, BYTEAS, INSTANTS = _COLUMNS[str], _COLUMNS[bytes], _COLUMNS[datetime]
INTEGERS, BOOLEANS = _COLUMNS[int], _COLUMNS[bool]


def encode_rows(columns: Sequence[Column], rows: Sequence[tuple[object, ...]]) -> list[bytes]:
    """A batch of rows, at least one, as parameters: each field becomes an array."""
    if len(rows) == 1:
        return [
            of_one + (NULL if value is None else element(value))
            for (_, _, element, of_one), value in zip(columns, rows[0], strict=True)
        ]
    return [column.array(values) for column, values in zip(columns, zip(*rows, strict=True), strict=True)]


def columns_of(row: type[tuple[object, ...]]) -> tuple[Column, ...]:
    """The arrays that rows of this NamedTuple become, in the order of its fields. Raises KeyError for other types."""
    return tuple(_COLUMNS[_without_none(hint)] for hint in get_type_hints(row, include_extras=True).values())


def _without_none(hint: object) -> object:
    members = [member for member in get_args(hint) if member is not NoneType]
    return members[0] if NoneType in get_args(hint) else hint
