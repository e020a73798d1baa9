"""Joins the chunks of an upload to S3 ("Signature calculations for the Authorization header: transferring payload in
multiple chunks", and "… including trailing headers", Amazon S3 API reference, as of November 2026).

The body is chunks of the form ``size[;chunk-signature=…] CRLF data CRLF``, a chunk of size 0, and trailing fields
(checksums, their signature). A text that two chunks share is not in the body as sent, but in the stored object.

Streams of events (Transcribe, Lex, Bedrock's bidirectional streams) have a digest of that form too, but frames for
chunks ("Event stream encoding", Amazon Transcribe developer guide): they stay as sent. Pure.
"""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import AmbiguousRequestError

AWS_CHUNKED: Final = "aws-chunked"
CHUNKS_MAX: Final = 10_000
"""Bounds the time for a body of tiny chunks. S3 requires 8 KB at least for each chunk but the last."""
_DIGEST_FIELD: Final = b"x-amz-content-sha256"
_DIGEST_OF_CHUNKS: Final = b"streaming-"
_DIGEST_OF_EVENTS: Final = b"-events"
_EVENT_STREAM: Final = b"application/vnd.amazon.eventstream"
_LABEL_FIELD: Final = b"content-type"
_LENGTH_FIELD: Final = b"x-amz-decoded-content-length"
_ENCODING_FIELD: Final = b"content-encoding"
_HEAD: Final = re.compile(rb"([0-9A-Fa-f]{1,12})(?:;chunk-signature=[0-9A-Fa-f*]{1,256})?\r\n")
# AWS's own example ends a trailing field with a line feed.
_TRAILER: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}):[ \t]*([\x20-\x7e\t]{0,1024}?)[ \t]*\r?\n")
_END: Final = re.compile(rb"(?:\r\n)?")
_TRAILERS_MAX: Final = 16

type Fields = Iterable[tuple[bytes, bytes]]


class JoinedChunks(Struct, frozen=True):
    """``content``: the data of all chunks, still in ``coding`` (lower case; empty: none). ``trailers``: names in lower
    case and values of the trailing fields."""

    content: bytes
    coding: str
    trailers: tuple[tuple[str, str], ...]


def joined_chunks(fields: Fields, body: bytes) -> JoinedChunks | None:
    """The chunks of ``body``, joined. ``fields``: the request's headers. None: they name no chunks, or a stream of
    events that is labelled as one, or ``body`` is empty.

    Raises AmbiguousRequestError: the headers name chunks, and ``body`` is not in this form.
    """
    if not body:
        return None
    codings: list[str] = []
    lengths: list[bytes] = []
    digests: list[bytes] = []
    labels: set[bytes] = set()
    for raw_name, value in fields:
        name = raw_name.lower()
        if name == _ENCODING_FIELD:
            codings += [one.strip().lower() for one in value.decode("latin-1").split(",")]
        elif name == _LENGTH_FIELD:
            lengths.append(value.strip())
        elif name == _DIGEST_FIELD:
            digests.append(value.strip().lower())
        elif name == _LABEL_FIELD:
            labels.add(value.partition(b";")[0].strip().lower())
    if labels == {_EVENT_STREAM}:
        digests = [one for one in digests if not one.endswith(_DIGEST_OF_EVENTS)]
    if not (AWS_CHUNKED in codings or any(one.startswith(_DIGEST_OF_CHUNKS) for one in digests)):
        return None
    content, end = _chunks(body)
    trailers = _trailers(body, end)
    if any(length != str(len(content)).encode() for length in lengths):
        raise _ambiguous("together they are not as long as X-Amz-Decoded-Content-Length says")
    if AWS_CHUNKED in codings:
        codings.remove(AWS_CHUNKED)
    return JoinedChunks(content, ",".join(codings), trailers)


def _chunks(body: bytes) -> tuple[bytes, int]:
    """The data of all chunks, and where the head of the last chunk ends."""
    pieces: list[bytes] = []
    at = 0
    while (match := _HEAD.match(body, at)) is not None:
        size, at = int(match[1], 16), match.end()
        if size == 0:
            return b"".join(pieces), at
        if len(pieces) == CHUNKS_MAX:
            raise _ambiguous(f"there are more than {CHUNKS_MAX} chunks")
        pieces.append(body[at : at + size])
        at += size
        if body[at : at + 2] != b"\r\n":
            raise _ambiguous("a chunk does not end where its size says")
        at += 2
    raise _ambiguous("a chunk has no readable size, or the last chunk is missing")


def _trailers(body: bytes, at: int) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    while len(found) < _TRAILERS_MAX and (match := _TRAILER.match(body, at)) is not None:
        found.append((match[1].decode("ascii").lower(), match[2].decode("ascii")))
        at = match.end()
    if _END.fullmatch(body, at) is None:
        raise _ambiguous("the data after the last chunk is not a trailing field")
    return tuple(found)


def _ambiguous(reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the body is not in the chunks that x-amz-content-sha256 or Content-Encoding names: {reason}",
        details={"field": "body"},
    )
