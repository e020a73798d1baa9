"""Events on their way from the worker to the child that makes a report: rows of the chain, length before content.

A stream that ends without its mark was cut off: its sender is dead, and what it held is not a whole run.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final, NamedTuple

_LENGTH: Final = struct.Struct(">i")
_ABSENT: Final = _LENGTH.pack(-1)
_END: Final = _LENGTH.pack(-2)
_MOST_BYTES: Final = 1 << 30


class ChainRow(NamedTuple):
    """A header as it was hashed, and the payload with its salt; both None where they were erased."""

    header: bytes
    hash: bytes
    salt: bytes | None
    payload: bytes | None


def chain_row(header: bytes, digest: bytes, salt: bytes | None, payload: bytes | None) -> ChainRow:
    """Neither salt nor payload where one of them is gone."""
    if salt is None or payload is None:
        return ChainRow(header, digest, None, None)
    return ChainRow(header, digest, salt, payload)


class CutOffError(Exception):
    """The stream has ended before its end."""


def write_rows(rows: Iterable[ChainRow]) -> bytes:
    parts: list[bytes] = []
    for row in rows:
        for value in row:
            if value is None:
                parts.append(_ABSENT)
            else:
                parts += (_LENGTH.pack(len(value)), value)
    return b"".join(parts)


def write_document(document: bytes) -> bytes:
    """Before the rows: one text of its own."""
    return _LENGTH.pack(len(document)) + document


def write_end() -> bytes:
    return _END


def read_document(stream: BinaryIO) -> bytes:
    """Raises CutOffError."""
    document = _read_value(stream, _read_length(stream))
    if document is None:
        raise CutOffError("there is no document")
    return document


def read_rows(stream: BinaryIO) -> Iterator[ChainRow]:
    """Raises CutOffError."""
    while (length := _read_length(stream)) != _LENGTH.unpack(_END)[0]:
        header = _read_value(stream, length)
        digest = _read_value(stream, _read_length(stream))
        if header is None or digest is None:
            raise CutOffError("a row has no header")
        yield ChainRow(
            header, digest, _read_value(stream, _read_length(stream)), _read_value(stream, _read_length(stream))
        )


def _read_length(stream: BinaryIO) -> int:
    content = stream.read(_LENGTH.size)
    if len(content) != _LENGTH.size:
        raise CutOffError("the stream has ended before its end")
    length: int = _LENGTH.unpack(content)[0]
    return length


def _read_value(stream: BinaryIO, length: int) -> bytes | None:
    if length == -1:
        return None
    if not 0 <= length <= _MOST_BYTES:
        raise CutOffError("not a length")
    content = stream.read(length)
    if len(content) != length:
        raise CutOffError("the stream has ended before its end")
    return content
