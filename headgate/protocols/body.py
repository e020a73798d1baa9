"""A request's body, read as what it says it is, or as what the API it goes to always reads.

Read strictly: what two parsers could read differently is refused. What has no readable form stays a digest,
a size and, where a form was expected, the reason (``unread``), which policies can ask for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict, sha256_hex
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError, ValidationError
from headgate.protocols import content_coding, multipart
from headgate.protocols.query import lists_by_name, parse_pairs, refuse_method_override

DECODED_BYTES_MAX: Final = 10 << 20
TEXT_BYTES_MAX: Final = 64 << 10

_FORM: Final = "application/x-www-form-urlencoded"
_JSON: Final = frozenset({"application/json", "text/json"})
_TEXT: Final = frozenset(
    {"application/xml", "application/yaml", "application/x-yaml", "application/graphql", "application/x-ndjson"}
    | {"application/javascript", "application/sql"}
)
_UTF8: Final = frozenset({"", "utf-8", "utf8", "us-ascii"})
_JSON_START: Final = (b"{", b"[")
_JSON_SPACE: Final = b" \t\r\n"


class BodyReading(StrEnum):
    """How the API that is called reads bodies; a catalogue says it (``body``)."""

    BY_TYPE = "by_type"
    """As Content-Type says."""
    JSON = "json"
    """As JSON, whatever Content-Type says: so that another label is no way around a policy."""
    RAW = "raw"
    """Not at all: an upload."""


class BodyKind(StrEnum):
    NONE = "none"
    JSON = "json"
    FORM = "form"
    MULTIPART = "multipart"
    TEXT = "text"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True)
class Body:
    """``value``: as generic parameters hold it; ``pairs``: the named members of a form, in order.

    ``covered_sha256`` is what the action's digest holds: ``sha256``, but for what varies between two sendings.
    """

    kind: BodyKind
    value: JsonValue
    pairs: Sequence[tuple[str, JsonValue]]
    size: int
    sha256: str
    covered_sha256: str


_NO_BODY: Final = Body(BodyKind.NONE, None, (), 0, sha256_hex(b""), sha256_hex(b""))


def read_body(
    body: bytes,
    content_type: str | None,
    content_encoding: str | None,
    *,
    reading: BodyReading = BodyReading.BY_TYPE,
    max_bytes: int = DECODED_BYTES_MAX,
) -> Body:
    """Raises AmbiguousRequestError; PayloadTooLargeError where a body that must be read is too large to be."""
    if not body:
        return _NO_BODY
    digest = sha256_hex(body)
    media_type, _, parameters = (content_type or "").partition(";")
    media_type = media_type.strip().lower()
    if media_type.startswith("multipart/") and reading is not BodyReading.JSON:
        return _read_multipart(body, content_type or "", content_encoding, digest, reading)
    decoded, unread = (body, None) if reading is BodyReading.RAW else _decode(body, content_encoding, max_bytes)
    if unread is not None or reading is BodyReading.RAW:
        return _unread(body, content_type, digest, reading, unread)
    if reading is BodyReading.JSON and decoded.isspace():
        return Body(BodyKind.NONE, None, (), len(body), digest, digest)
    if reading is BodyReading.JSON or media_type in _JSON or media_type.endswith("+json"):
        return Body(BodyKind.JSON, _parse_json(decoded), (), len(body), digest, digest)
    if media_type == _FORM:
        return _read_form(decoded, len(body), digest)
    if media_type.startswith("text/") or media_type in _TEXT or media_type.endswith("+xml"):
        return _read_text(body, decoded, content_type, parameters, digest)
    if not media_type and decoded.lstrip(_JSON_SPACE).startswith(_JSON_START):
        value, is_json = _try_json(decoded)
        if is_json:
            return Body(BodyKind.JSON, value, (), len(body), digest, digest)
    return _unread(body, content_type, digest, reading, None)


def _decode(body: bytes, content_encoding: str | None, max_bytes: int) -> tuple[bytes, str | None]:
    """The body without its content coding, or why it stays unread."""
    if content_encoding is None and len(body) <= max_bytes:
        return body, None
    coding = (content_encoding or "").strip().lower()
    if not content_coding.is_readable(coding):
        return body, "content_encoding"
    try:
        return content_coding.decode(body, coding, max_bytes=max_bytes), None
    except PayloadTooLargeError:
        return body, "too_large"


def _read_form(decoded: bytes, size: int, digest: str) -> Body:
    """A form; but ``curl -d '{…}'`` labels JSON as a form, and many servers look at the first byte.

    JSON without ``&`` and ``=`` is nothing but one nameless field to a form parser: it is read as JSON. With
    them it would be two different messages to two servers, and is refused.
    """
    if decoded.lstrip(_JSON_SPACE).startswith(_JSON_START):
        value, is_json = _try_json(decoded)
        if is_json:
            if b"&" in decoded or b"=" in decoded:
                raise AmbiguousRequestError(
                    "the body is JSON but labelled as a form: send it with Content-Type: application/json",
                    details={"field": "body"},
                )
            return Body(BodyKind.JSON, value, (), size, digest, digest)
    pairs = parse_pairs(decoded.decode("latin-1"), field="body")
    refuse_method_override((name for name, _ in pairs), field="body")
    return Body(BodyKind.FORM, lists_by_name(pairs), pairs, size, digest, digest)


def _read_text(body: bytes, decoded: bytes, content_type: str | None, parameters: str, digest: str) -> Body:
    charset = ""
    for parameter in parameters.split(";"):
        name, _, value = parameter.strip().partition("=")
        if name.lower() == "charset":
            charset = value.strip('"').lower()
    if len(decoded) > TEXT_BYTES_MAX:
        return _unread(body, content_type, digest, BodyReading.BY_TYPE, "too_large")
    if charset not in _UTF8:
        return _unread(body, content_type, digest, BodyReading.BY_TYPE, "charset")
    try:
        text = decoded.decode()
    except UnicodeDecodeError:
        return _unread(body, content_type, digest, BodyReading.BY_TYPE, "charset")
    return Body(BodyKind.TEXT, text, (), len(body), digest, digest)


def _read_multipart(
    body: bytes, content_type: str, content_encoding: str | None, digest: str, reading: BodyReading
) -> Body:
    if content_encoding is not None and content_encoding.strip().lower() not in ("", "identity"):
        return _unread(body, content_type, digest, reading, "content_encoding")
    pieces = multipart.split_pieces(body, multipart.boundary_of(content_type))
    covered = multipart.covered_digest(pieces)
    if reading is BodyReading.RAW or not content_type.lower().startswith("multipart/form-data"):
        value = _digest_only(body, multipart.without_boundary(content_type), covered, None)
        return Body(BodyKind.OPAQUE, value, (), len(body), digest, covered)
    parts = [multipart.read_part(piece) for piece in pieces]
    pairs = tuple((part.name, part.as_json()) for part in parts)
    refuse_method_override((name for name, _ in pairs), field="body")
    return Body(BodyKind.MULTIPART, lists_by_name(pairs), pairs, len(body), digest, covered)


def _parse_json(decoded: bytes) -> JsonValue:
    try:
        return parse_strict(decoded)
    except ValidationError as error:
        raise AmbiguousRequestError(f"the body: {error.message}", details={"field": "body"}) from error


def _try_json(decoded: bytes) -> tuple[JsonValue, bool]:
    try:
        return parse_strict(decoded), True
    except ValidationError:
        return None, False


def _unread(body: bytes, content_type: str | None, digest: str, reading: BodyReading, reason: str | None) -> Body:
    if reading is BodyReading.JSON:
        raise PayloadTooLargeError(
            f"the body must be read and cannot be: {reason}", details={"field": "body", "reason": reason}
        )
    return Body(BodyKind.OPAQUE, _digest_only(body, content_type, digest, reason), (), len(body), digest, digest)


def _digest_only(body: bytes, content_type: str | None, digest: str, reason: str | None) -> JsonObject:
    value: JsonObject = {"sha256": digest, "size": len(body), "content_type": content_type}
    if reason is not None:
        value["unread"] = reason
    return value
