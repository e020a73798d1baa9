"""An answer of gRPC or Connect that comes message by message ("gRPC over HTTP/2", "Connect Protocol Reference").

Pure. A stream of Connect ends with a frame of its own, whose message is JSON.
"""

import re
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.protocols.answer_head import AnswerHead
from headgate.protocols.grpc_frames import (
    COMPRESSED,
    END_OF_STREAM,
    MESSAGE_BYTES_MAX,
    decompress,
    frames,
    whole_messages_bytes,
)
from headgate.protocols.protobuf_numbers import NumberReader, Place
from headgate.protocols.protobuf_wire import Unread, UnreadableError

_FORM: Final = re.compile(r"application/(?:grpc(?!-)|connect(?=\+))(?:\+(?P<codec>.*))?")
_CODINGS: Final = frozenset({b"grpc-encoding", b"connect-content-encoding"})


def comes_in_messages(head: AnswerHead) -> bool:
    """Whether the body consists of frames: gRPC, or a stream of Connect. gRPC-Web is read as a whole."""
    return _FORM.fullmatch(head.media_type) is not None


class MessagePieces:
    """The interface of ``answer_pieces.Pieces``, with each whole message as a piece."""

    __slots__ = ("_ready_to", "_waiting")

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._ready_to = 0

    def __len__(self) -> int:
        """Bytes that are held back."""
        return len(self._waiting)

    def feed(self, data: bytes) -> None:
        self._waiting += data
        self._ready_to = whole_messages_bytes(self._waiting)

    def finish(self) -> None:
        """At the end of the answer: bytes that are no whole message are a piece as well."""
        self._ready_to = len(self._waiting)

    @property
    def ready(self) -> bytes:
        return bytes(self._waiting[: self._ready_to])

    def take(self) -> bytes:
        """``ready``, which is then no longer waiting."""
        taken = self.ready
        del self._waiting[: self._ready_to]
        self._ready_to = whole_messages_bytes(self._waiting)
        return taken


class AnswerMessages(Struct, frozen=True):
    """``values``: each message as JSON; None for one that cannot be read. ``opaque``: such messages, and bytes within
    messages that are neither text nor message, with their places in ``values``. ``unread``: why the first message that
    cannot be read is not."""

    values: list[JsonValue]
    opaque: list[tuple[Place, bytes]]
    unread: Unread | None


def read_messages(head: AnswerHead, stretch: bytes) -> AnswerMessages:
    """The content of whole messages; that of Protocol Buffers by number."""
    codec = (found["codec"] or "proto") if (found := _FORM.fullmatch(head.media_type)) is not None else ""
    coding = next((value.decode("latin-1") for name, value in head.fields if name.lower() in _CODINGS), None)
    values: list[JsonValue] = []
    opaque: list[tuple[Place, bytes]] = []
    unread: Unread | None = None
    numbers = NumberReader(lambda place, data: opaque.append((place, data)))
    left = MESSAGE_BYTES_MAX
    try:
        for flags, data in frames(stretch):
            values.append(None)
            place: Place = (len(values) - 1,)
            try:
                if flags & ~(COMPRESSED | END_OF_STREAM):
                    raise UnreadableError(Unread.FLAGS)
                message = decompress(data, coding, max_bytes=left) if flags & COMPRESSED else data
                left -= len(message)
                values[-1] = _read(message, "json" if flags & END_OF_STREAM else codec, numbers, place)
            except UnreadableError as error:
                opaque.append((place, data))
                unread = unread or error.reason
    except UnreadableError as error:
        opaque.append(((len(values),), stretch))
        unread = unread or error.reason
    return AnswerMessages(values, opaque, unread)


def _read(message: bytes, codec: str, numbers: NumberReader, place: Place) -> JsonValue:
    """Raises UnreadableError."""
    if codec == "proto":
        return numbers.read(message, place)
    if codec != "json":
        raise UnreadableError(Unread.CODEC)
    try:
        return parse_strict(message)
    except ValidationError as error:
        raise UnreadableError(Unread.INVALID) from error
