"""The messages in a body of gRPC, gRPC-Web or Connect, out of their frames and compression.

"gRPC over HTTP/2" and "gRPC-Web" (the protocol documents of grpc/grpc): a byte of flags, four of length,
the message. "Connect Protocol Reference": the same for streams; a unary call is its message. Read is what servers read
alike: a frame that is marked as compressed without a coding fails at servers, and is not read.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError
from headgate.protocols import content_coding
from headgate.protocols.protobuf_wire import Unread, UnreadableError

MESSAGES_MAX: Final = 1_000
"""Of one call; a call with more is read up to there."""
MESSAGE_BYTES_MAX: Final = 4 << 20
"""Of all messages of one call, decompressed: what servers take for one message by default."""
_HEAD_BYTES: Final = 5
COMPRESSED: Final = 1
"""The flag of a frame whose message is compressed."""
END_OF_STREAM: Final = 2
"""The flag of the frame of Connect that ends a stream, whose message is JSON."""
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]*={0,2}")


class Framed(Struct, frozen=True):
    """``messages``: as far as they are read; ``unread``: why the rest is not."""

    messages: tuple[bytes, ...]
    unread: Unread | None


def read_frames(body: bytes, coding: str | None, *, is_base64: bool = False) -> Framed:
    """``coding``: the value of ``grpc-encoding`` or ``connect-content-encoding``."""
    messages: list[bytes] = []
    try:
        left = MESSAGE_BYTES_MAX
        for flags, data in frames(_from_base64(body) if is_base64 else body):
            if len(messages) == MESSAGES_MAX:
                raise UnreadableError(Unread.TOO_MANY)
            if flags & ~COMPRESSED:
                raise UnreadableError(Unread.FLAGS)
            message = decompress(data, coding, max_bytes=left) if flags else data
            left -= len(message)
            if left < 0:
                raise UnreadableError(Unread.TOO_LARGE)
            messages.append(message)
    except UnreadableError as error:
        return Framed(tuple(messages), error.reason)
    return Framed(tuple(messages), None)


def frame_of(flags: int, message: bytes) -> bytes:
    """``message`` in a frame."""
    return bytes((flags,)) + len(message).to_bytes(_HEAD_BYTES - 1, "big") + message


def _frame_end(data: bytes | bytearray, start: int) -> int | None:
    """Where the frame that starts at ``start`` ends, perhaps beyond the data. None: its head is cut."""
    message_start = start + _HEAD_BYTES
    if message_start > len(data):
        return None
    return message_start + int.from_bytes(data[start + 1 : message_start], "big")


def whole_messages_bytes(data: bytes | bytearray) -> int:
    """How many of the bytes are whole messages: at most ``MESSAGES_MAX`` messages and ``MESSAGE_BYTES_MAX``, as
    ``read_frames`` reads of one call. The first message counts whatever its size."""
    end = 0
    for number in range(MESSAGES_MAX):
        after = _frame_end(data, end)
        if after is None or after > len(data) or (number and after > MESSAGE_BYTES_MAX):
            break
        end = after
    return end


class MessageEnds:
    """Finds the ends of messages in a stream of frames that comes in pieces. Keeps no message."""

    __slots__ = ("_head", "_left_bytes")

    def __init__(self) -> None:
        self._head = b""
        self._left_bytes = 0

    def feed(self, data: bytes) -> bool:
        """Whether a message ends with the last of these bytes."""
        at = 0
        while at < len(data):
            if self._left_bytes:
                passed = min(self._left_bytes, len(data) - at)
                self._left_bytes -= passed
                at += passed
                continue
            taken = data[at : at + _HEAD_BYTES - len(self._head)]
            self._head += taken
            at += len(taken)
            end = _frame_end(self._head, 0)
            if end is not None:
                self._left_bytes = end - _HEAD_BYTES
                self._head = b""
        return not self._left_bytes and not self._head


def two_messages_bytes(data: bytes) -> int:
    """How many bytes the first two messages take at least, by those of their heads that are there."""
    end = 0
    for _ in range(2):
        after = _frame_end(data, end)
        end = end + _HEAD_BYTES if after is None else after
    return end


def decompress(data: bytes, coding: str | None, *, max_bytes: int) -> bytes:
    """Raises UnreadableError. Names of codings are case-sensitive here, and ``identity`` compresses nothing."""
    if coding is None or coding in ("", "identity") or not content_coding.is_readable(coding):
        raise UnreadableError(Unread.COMPRESSION)
    try:
        most = content_coding.decoded_bytes_max(len(data), max_bytes)
        return content_coding.decode(data, coding, max_bytes=most)
    except PayloadTooLargeError as error:
        raise UnreadableError(Unread.TOO_LARGE) from error
    except AmbiguousRequestError as error:
        raise UnreadableError(Unread.COMPRESSION) from error


def frames(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Flags and message of each frame. Raises UnreadableError if the last one is cut."""
    start = 0
    while start < len(data):
        end = _frame_end(data, start)
        if end is None or end > len(data):
            raise UnreadableError(Unread.TRUNCATED)
        yield data[start], data[start + _HEAD_BYTES : end]
        start = end


def _from_base64(text: bytes) -> bytes:
    """One text, padded. What is padded in the middle some servers read to the first padding only."""
    if _BASE64.fullmatch(text) is None:
        raise UnreadableError(Unread.BASE64)
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise UnreadableError(Unread.BASE64) from error
