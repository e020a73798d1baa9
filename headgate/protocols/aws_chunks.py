"""Bodies in chunks that S3 takes apart ("Signature calculations for the Authorization header: transferring payload in
multiple chunks", and "… including trailing headers", Amazon S3 API reference, as of November 2026).

``size[;chunk-signature=…] CRLF data CRLF`` again and again, a chunk of size 0, and fields behind it (checksums, their
signature). A text that two chunks share is not in the body as it is sent, but in the object that is stored. Pure.
"""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import AmbiguousRequestError

CHUNKS_MAX: Final = 10_000
"""S3 wants chunks of 8 KB and more, but for the last one; each costs a turn of a loop."""
_CODING: Final = "aws-chunked"
_DIGEST_FIELD: Final = b"x-amz-content-sha256"
_DIGEST_OF_CHUNKS: Final = b"streaming-"
_LENGTH_FIELD: Final = b"x-amz-decoded-content-length"
_ENCODING_FIELD: Final = b"content-encoding"
_HEAD: Final = re.compile(rb"([0-9A-Fa-f]{1,12})(?:;chunk-signature=[0-9A-Fa-f*]{1,256})?\r\n")
# AWS's own example ends a trailing field with a line feed.
_TRAILER: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}):[ \t]*([\x20-\x7e\t]{0,1024}?)[ \t]*\r?\n")
_END: Final = re.compile(rb"(?:\r\n)?")
_TRAILERS_MAX: Final = 16

type Fields = Iterable[tuple[bytes, bytes]]


class JoinedChunks(Struct, frozen=True):
    """``content``: of all chunks, still in ``coding``, which is in lower case. ``trailers``: the fields behind them."""

    content: bytes
    coding: str
    trailers: tuple[tuple[str, str], ...]


def joined_chunks(fields: Fields, body: bytes) -> JoinedChunks | None:
    """``fields``: the request's headers. None: they name no chunks, or there is no body.

    Raises AmbiguousRequestError: the body is not in the chunks that they name.
    """
    if not body:
        return None
    codings: list[str] = []
    lengths: list[bytes] = []
    is_named = False
    for raw_name, value in fields:
        name = raw_name.lower()
        if name == _ENCODING_FIELD:
            codings += [one.strip().lower() for one in value.decode("latin-1").split(",")]
        elif name == _LENGTH_FIELD:
            lengths.append(value.strip())
        elif name == _DIGEST_FIELD:
            is_named = is_named or value.strip().lower().startswith(_DIGEST_OF_CHUNKS)
    if not (is_named or _CODING in codings):
        return None
    content, end = _chunks(body)
    trailers = _trailers(body, end)
    if any(length != str(len(content)).encode() for length in lengths):
        raise _ambiguous("they are not as long as X-Amz-Decoded-Content-Length says")
    if _CODING in codings:
        codings.remove(_CODING)
    return JoinedChunks(content, ",".join(codings), trailers)


def _chunks(body: bytes) -> tuple[bytes, int]:
    """What they hold, and where the head of the last one ends."""
    pieces: list[bytes] = []
    at = 0
    while (match := _HEAD.match(body, at)) is not None:
        size, at = int(match[1], 16), match.end()
        if size == 0:
            return b"".join(pieces), at
        if len(pieces) == CHUNKS_MAX:
            raise _ambiguous(f"there are more than {CHUNKS_MAX}")
        pieces.append(body[at : at + size])
        at += size
        if body[at : at + 2] != b"\r\n":
            raise _ambiguous("one does not end where its size says")
        at += 2
    raise _ambiguous("one has no readable size, or the last one is missing")


def _trailers(body: bytes, at: int) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    while len(found) < _TRAILERS_MAX and (match := _TRAILER.match(body, at)) is not None:
        found.append((match[1].decode("ascii").lower(), match[2].decode("ascii")))
        at = match.end()
    if _END.fullmatch(body, at) is None:
        raise _ambiguous("what follows the last one is no field")
    return tuple(found)


def _ambiguous(reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the body is not in the chunks that x-amz-content-sha256 or Content-Encoding names: {reason}",
        details={"field": "body"},
    )
