"""The head of a destination's answer, as far as it says how the body is to be read: RFC 9110, sections 6.4, 8 and 14.

Pure. What says that the body is no whole, or cannot be read, is an objection in words: whoever inspects answers
withholds it then, because nothing found in a part proves nothing about the whole.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.protocols import content_coding

type Fields = Sequence[tuple[bytes, bytes]]

_CHARSET: Final = re.compile(r';\s*charset\s*=\s*"?([^";]*)"?', re.IGNORECASE)
_RANGE: Final = re.compile(r"bytes 0-(\d{1,18})/(\d{1,18})", re.IGNORECASE)
_EVENT_STREAM: Final = "text/event-stream"
_LINES: Final = frozenset(
    {
        "application/x-ndjson",
        "application/ndjson",
        "application/jsonl",
        "application/jsonlines",
        "application/x-jsonlines",
        "application/stream+json",
        "application/json-seq",
    }
)
PART: Final = "it is a part of something larger (206): what is split over two parts would not be seen"
_BODYLESS_STATUS: Final = frozenset({204, 304})
_SWITCHING_PROTOCOLS: Final = 101


class StreamKind(StrEnum):
    """An answer that comes piece by piece, perhaps without an end."""

    EVENTS = "events"  # the HTML standard, "Server-sent events": pieces end with an empty line
    LINES = "lines"  # NDJSON, JSON Lines, JSON text sequences (RFC 7464): pieces end with a line


class AnswerHead(Struct, frozen=True):
    """``media_type`` and ``coding`` in lower case, empty where none is named; several values joined by a comma.

    ``bodyless``: whatever the fields say, no body follows (HEAD, 204, 304).
    """

    status: int
    reason: str
    fields: Fields
    bodyless: bool
    media_type: str
    charset: str
    coding: str
    transfer_coding: str
    content_length: int | None
    content_range: str | None

    @property
    def is_coded(self) -> bool:
        return self.coding not in ("", "identity")

    @property
    def opens_websocket(self) -> bool:
        """Its messages are inspected one by one (``addons.socket_messages``)."""
        return self.status == _SWITCHING_PROTOCOLS and _joined(self.fields, b"upgrade").lower() == "websocket"

    @property
    def stream(self) -> StreamKind | None:
        if self.bodyless:
            return None
        if self.media_type == _EVENT_STREAM:
            return StreamKind.EVENTS
        return StreamKind.LINES if self.media_type in _LINES else None


def parse_answer_head(
    status: int, fields: Iterable[tuple[bytes, bytes]], *, method: str, reason: bytes = b""
) -> AnswerHead:
    """``reason``: the phrase of the status line, which is as free as a field (RFC 9112, section 4)."""
    fields = tuple(fields)
    content_type = _joined(fields, b"content-type")
    media_type, _, parameters = content_type.partition(";")
    charset = _CHARSET.search(";" + parameters)
    length = _joined(fields, b"content-length")
    return AnswerHead(
        status=status,
        reason=reason.decode("utf-8", "replace"),
        fields=fields,
        bodyless=method == "HEAD" or status in _BODYLESS_STATUS,
        media_type=media_type.strip().lower(),
        charset="" if charset is None else charset[1].strip().lower(),
        coding=_joined(fields, b"content-encoding").lower(),
        transfer_coding=_joined(fields, b"transfer-encoding").lower(),
        content_length=int(length) if length.isascii() and length.isdigit() and len(length) <= 18 else None,
        content_range=_joined(fields, b"content-range") or None,
    )


def objection_to(head: AnswerHead, *, max_bytes: int | None) -> str | None:
    """Why the answer cannot be inspected, whatever its body holds; None: it can be tried. ``max_bytes``: None where a
    part of it is enough."""
    if head.status < 200 and not head.opens_websocket:
        return f"an answer {head.status} changes the protocol, and what follows cannot be inspected"
    if head.bodyless:
        return None
    if head.transfer_coding not in ("", "chunked", "identity"):
        return "its transfer coding is not read"
    if not content_coding.is_readable(head.coding):
        return "its content coding is not read"
    if max_bytes is None:
        return None
    if is_part(head):
        return PART
    if head.content_length is not None and head.content_length > max_bytes and head.stream is None:
        return f"it is larger than the {max_bytes} bytes that are inspected"
    return None


def is_part(head: AnswerHead) -> bool:
    """Whether it is a range of something larger (RFC 9110, section 14)."""
    return (head.status == 206 or head.content_range is not None) and not _is_whole(head.content_range)


def _is_whole(content_range: str | None) -> bool:
    match = _RANGE.fullmatch(content_range or "")
    return match is not None and int(match[1]) + 1 == int(match[2])


def _joined(fields: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    return ",".join(value.decode("latin-1").strip() for one, value in fields if one.lower() == name)
