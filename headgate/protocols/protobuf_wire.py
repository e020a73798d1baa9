"""The fields of a message of Protocol Buffers, by number and wire type ("Encoding", protobuf.dev).

Pure and bounded. Read is whatever some parser reads, since those that read it agree on the values: field 0, which upb
skips and others refuse; tags and lengths beyond 32 bits, of which Java and C# drop the upper bits; numbers beyond 64
bits, of which C++ does. A message in bytes that only some servers find there would otherwise be hidden from policies.
"""

from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

DEPTH_MAX: Final = 32
"""Messages in messages, groups included. Official parsers stop at 100."""
FIELDS_MAX: Final = 20_000
"""Of one call, those included that are read to find out whether bytes are a message."""
NESTED_BYTES_MAX: Final = 32 << 20
"""Of one call, each byte counted once for each message that it is in: so many are copied and decoded."""
_CONTINUES: Final = 0x80
"""A byte of a number, as large or larger, has one behind it."""
_TAG_BITS: Final = 32
_VARINT_BITS: Final = 64
_VARINT_BYTES_MAX: Final = 10


class WireType(IntEnum):
    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    GROUP = 3
    GROUP_END = 4
    FIXED32 = 5


_WIRE_TYPES: Final = tuple(WireType)


class Unread(StrEnum):
    """Why a message is not read; policies see it as ``input.grpc.unread``."""

    CONTENT_ENCODING = "content_encoding"
    """The whole body is in a content coding that is unknown, or that this protocol does not use."""
    BASE64 = "base64"
    CODEC = "codec"
    """The messages are neither Protocol Buffers nor JSON."""
    TRUNCATED = "truncated"
    """The body ends in the middle of a message, or of its length."""
    FLAGS = "flags"
    """A frame that no client sends."""
    COMPRESSION = "compression"
    """Compressed without a known coding, or not what the coding says."""
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    """Messages, or fields in them."""
    TOO_DEEP = "too_deep"
    INVALID = "invalid"
    """No message of Protocol Buffers, or no JSON that all parsers read alike."""


class UnreadableError(Exception):
    """Raised inside of this reader; ``reason`` is what policies see."""

    def __init__(self, reason: Unread) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Field(NamedTuple):
    """``value``: an unsigned integer (VARINT, FIXED32, FIXED64), bytes, or the fields of a group."""

    number: int
    wire_type: WireType
    value: "int | bytes | list[Field]"


class FieldBudget:
    """What is left of FIELDS_MAX and NESTED_BYTES_MAX for one call."""

    __slots__ = ("bytes_left", "left")

    def __init__(self, fields: int = FIELDS_MAX, nested_bytes: int = NESTED_BYTES_MAX) -> None:
        self.left = fields
        self.bytes_left = nested_bytes

    def take(self) -> None:
        """Raises UnreadableError."""
        self.left -= 1
        if self.left < 0:
            raise UnreadableError(Unread.TOO_MANY)

    def take_bytes(self, size: int) -> None:
        """Raises UnreadableError."""
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise UnreadableError(Unread.TOO_LARGE)


def read_fields(data: bytes, budget: FieldBudget, depth: int = 0) -> list[Field]:
    """All of ``data`` as one message, in order. ``depth``: of this message in others.

    Raises UnreadableError; TOO_DEEP only of what is a message: without ends, ``[[[[`` opens groups and is a text.
    """
    budget.take_bytes(len(data))
    fields: list[Field] = []
    open_groups: list[tuple[int, list[Field]]] = []
    at, deepest = 0, 0
    while at < len(data):
        budget.take()
        tag = data[at]
        if tag < _CONTINUES:
            at += 1
        else:
            tag, at = read_varint(data, at, bits=_TAG_BITS)
        number, kind = tag >> 3, tag & 7
        if kind > WireType.FIXED32:
            raise UnreadableError(Unread.INVALID)
        if kind == WireType.GROUP:
            open_groups.append((number, fields))
            deepest = max(deepest, len(open_groups))
            fields = []
        elif kind == WireType.GROUP_END:
            if not open_groups or open_groups[-1][0] != number:
                raise UnreadableError(Unread.INVALID)
            _, outer = open_groups.pop()
            outer.append(Field(number, WireType.GROUP, fields))
            fields = outer
        else:
            value, at = _plain_value(data, at, kind)
            fields.append(Field(number, _WIRE_TYPES[kind], value))
    if open_groups:
        raise UnreadableError(Unread.INVALID)
    if fields and depth + deepest > DEPTH_MAX:
        raise UnreadableError(Unread.TOO_DEEP)
    return fields


def _plain_value(data: bytes, at: int, kind: int) -> tuple[int | bytes, int]:
    if kind == WireType.VARINT:
        return read_varint(data, at)
    if kind == WireType.BYTES:
        size, at = read_varint(data, at, bits=_TAG_BITS)
    else:
        size = 8 if kind == WireType.FIXED64 else 4
    end = at + size
    if end > len(data):
        raise UnreadableError(Unread.INVALID)
    value = data[at:end]
    return (value if kind == WireType.BYTES else int.from_bytes(value, "little")), end


def read_varint(data: bytes, at: int, *, bits: int = _VARINT_BITS) -> tuple[int, int]:
    """The unsigned number at this place, and the place behind it. Raises UnreadableError."""
    if at < len(data) and data[at] < _CONTINUES:
        return data[at], at + 1
    value = shift = 0
    for place in range(at, min(at + _VARINT_BYTES_MAX, len(data))):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < _CONTINUES:
            return value & ((1 << bits) - 1), place + 1
        shift += 7
    raise UnreadableError(Unread.INVALID)
