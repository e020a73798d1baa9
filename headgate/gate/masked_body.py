"""Masks findings in a body: characters are replaced by the kind that was found, as in ``[masked: payment_card]``.

It masks text, JSON (RFC 8259) and forms, in UTF-8 and without a content coding, if no signature or digest covers them.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from regorus import as_text

from headgate.gate.masked_form import replaced_form, replaced_parts
from headgate.gate.masked_text import Stretches, mask, replaced_text, stretches_of
from headgate.policies.model import FoundText
from headgate.protocols.query import FIELDS_MAX

type _Fields = Iterable[tuple[bytes, bytes]]

_BODY: Final = "body"
_LARGE_BYTES: Final = 4 << 10
_WIDEST_CHARACTER: Final = 4
_PLACE_BYTES: Final = 352
"""Of memory, for each value of JSON or a form with its path and its place."""
_PERCENT_ENCODED: Final = 3
_CHARSETS: Final = frozenset(("", "utf-8", "utf8", "us-ascii"))
_SIGNED_NAME: Final = re.compile(rb"signature|digest|sha-?(?:1|256|512)|md5|hmac|checksum|\bcrc", re.IGNORECASE)
_SIGNED_SCHEME: Final = re.compile(
    rb"\s*(?:AWS|Signature|HMAC|Digest|OAuth\b|Hawk|DPoP|SharedKey|.*-HMAC)", re.IGNORECASE
)
_SIGNED_QUERY: Final = re.compile(r"sign|hmac|[&?]?(?:^|&)sig=", re.IGNORECASE)
_CODINGS: Final = frozenset((b"content-encoding", b"grpc-encoding", b"connect-content-encoding"))
_FORM: Final = "application/x-www-form-urlencoded"
_PARTS: Final = "multipart/form-data"


class MaskedBody(Struct, frozen=True):
    """``count``: how many stretches were replaced; ``kinds``: of what, each once."""

    body: bytes
    count: int
    kinds: tuple[str, ...]


def weight_of_masking(body: bytes, found: Sequence[FoundText]) -> int:
    """Bytes of memory, about, that making a ``MaskedBody`` takes: the text before and after (one wide character makes
    all of it wide), the places and values of JSON, and the masked bytes."""
    width = 1 if body.isascii() else _WIDEST_CHARACTER
    added = _PERCENT_ENCODED * sum(len(mask(one.kind)) for one in found)
    values = body.count(b",") + body.count(b"\n") + min(body.count(b"&"), FIELDS_MAX)
    return 2 * width * (len(body) + added) + len(body) + added + _PLACE_BYTES * values


async def masked_in_time(fields: _Fields, query: str, body: bytes, found: Sequence[FoundText]) -> MaskedBody | None:
    """``masked_body``, in a thread where it would hold up everybody else for longer than a thread costs."""
    if len(body) <= _LARGE_BYTES:
        return masked_body(fields, query, body, found)
    return await asyncio.to_thread(masked_body, fields, query, body, found)


def masked_body(fields: _Fields, query: str, body: bytes, found: Sequence[FoundText]) -> MaskedBody | None:
    """None: it cannot be replaced, or nothing of ``found`` stands in the body. ``fields``: those of the head, trailers
    too. That all of it is gone is for the caller to look at."""
    in_body = [replace(one, path=one.path[1:]) for one in found if one.path[:1] == (_BODY,)]
    content_type = _content_type_of_plain(fields, query)
    if content_type is None or not in_body:
        return None
    by_path = stretches_of(in_body)
    return _made(_replaced_body(content_type, body, by_path), by_path)


def masked_text(text: str, found: Sequence[FoundText]) -> MaskedBody | None:
    """As ``masked_body``, of a text or JSON; the paths of ``found`` are within it."""
    by_path = stretches_of(found)
    return _made(_encoded(replaced_text(text, by_path)), by_path)


def replaceable_events(fields: _Fields, events: bytes) -> str | None:
    """The text of server-sent events. None: nothing in it can be replaced."""
    content_type = _content_type_of_plain(fields, "")
    return None if content_type is None else _utf_8(content_type, events)


def _content_type_of_plain(fields: _Fields, query: str) -> str | None:
    """None: somebody has signed or digested the body, or it is in a coding."""
    if _SIGNED_QUERY.search(query) is not None:
        return None
    content_type = ""
    for name, value in fields:
        lowered = name.lower()
        if _SIGNED_NAME.search(lowered) is not None or lowered in (b"content-range", b"trailer", b"x-amz-date"):
            return None
        if lowered in (b"authorization", b"proxy-authorization") and _SIGNED_SCHEME.match(value) is not None:
            return None
        if lowered in _CODINGS and value.strip().lower() not in (b"", b"identity"):
            return None
        if lowered == b"content-type":
            content_type = value.decode("latin-1")
    return content_type


def _replaced_body(content_type: str, body: bytes, by_path: Stretches) -> bytes | None:
    media = content_type.partition(";")[0].strip().lower()
    if media == _PARTS:
        return replaced_parts(body, content_type, by_path)
    text = _utf_8(content_type, body)
    if text is None or "stream" in media or media.startswith(("multipart/", "application/grpc", "message/")):
        return None
    if media == _FORM:
        return _encoded(replaced_form(text, by_path))
    return _encoded(replaced_text(text, by_path, is_labelled=not media or "json" in media))


def _made(body: bytes | None, by_path: Stretches) -> MaskedBody | None:
    if body is None:
        return None
    stretches = [one for each in by_path.values() for one in each]
    return MaskedBody(body, len(stretches), tuple(sorted({one.kind for one in stretches})))


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _utf_8(content_type: str, body: bytes) -> str | None:
    """The text, where it is UTF-8 and its type says nothing else."""
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]*)", content_type, re.IGNORECASE)
    if charset is not None and charset[1].lower() not in _CHARSETS:
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return text if as_text(body) == text else None
