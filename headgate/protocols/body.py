"""A request's body, read as what it says it is, or as what the API it goes to always reads.

Read strictly: what two parsers could read differently is refused. JSON under another label is read as JSON, since many
servers look at the first byte only, and said to be so (``type_mismatch``). What has no readable form stays a digest,
a size and, where a form was expected, the reason (``unread``), which policies can ask for.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict, sha256_hex
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError, ValidationError
from headgate.protocols import content_coding
from headgate.protocols.bracket_names import refuse_bracket_names
from headgate.protocols.content_type import NO_CONTENT_TYPE, ContentType, read_content_type
from headgate.protocols.json_numbers import refuse_inexact_integers
from headgate.protocols.lenient_json import refuse_lenient_json
from headgate.protocols.multipart import read_multipart
from headgate.protocols.overrides import refuse_method_override
from headgate.protocols.query import lists_by_name, parse_form

DECODED_BYTES_MAX: Final = 10 << 20
TEXT_BYTES_MAX: Final = 64 << 10

_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"
_JSON: Final = frozenset(
    {"application/json", "text/json", "application/x-json", "text/x-json", "application/csp-report"}
    | {"application/x-amz-json-1.0", "application/x-amz-json-1.1"}
)
_TEXT: Final = frozenset(
    {"application/xml", "application/yaml", "application/x-yaml", "application/graphql", "application/x-ndjson"}
    | {"application/javascript", "application/sql"}
)
FRAMED: Final = ("application/grpc", "application/connect+")
"""Messages in frames (``headgate.protocols.grpc``), ``application/grpc+json`` too."""
_OCTETS: Final = frozenset({"application/octet-stream", "binary/octet-stream"})
"""How SDKs of object stores label a file whose type they do not know; the second is S3's."""
_JSON_START: Final = (b"{", b"[")
_JSON_SPACE: Final = b" \t\r\n"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class BodyReading(StrEnum):
    """How the API that is called reads bodies; a catalogue says it (``body``)."""

    BY_TYPE = "by_type"
    """As Content-Type says."""
    JSON = "json"
    """As JSON, whatever Content-Type says: so that another label is no way around a policy."""
    RAW = "raw"
    """Not at all: an upload."""


class BodyKind(StrEnum):
    """As what a body was read; policies see it as ``input.http.body_kind``."""

    NONE = "none"
    JSON = "json"
    FORM = "form"
    MULTIPART = "multipart"
    TEXT = "text"
    OPAQUE = "opaque"


class Body(Struct, frozen=True):
    """``value``: as generic parameters hold it; ``pairs``: the named members of a form, in order.

    ``type_mismatch``: it is JSON, its Content-Type says something else, and no catalogue says what the API reads.
    """

    kind: BodyKind
    value: JsonValue
    pairs: Sequence[tuple[str, JsonValue]]
    size: int
    sha256: str
    type_mismatch: bool = False


_NO_BODY: Final = Body(BodyKind.NONE, None, (), 0, sha256_hex(b""))


def read_body(
    body: bytes,
    content_type: str | None,
    content_encoding: str | None,
    *,
    reading: BodyReading = BodyReading.BY_TYPE,
    is_listed: bool = False,
    is_for_model: bool = False,
    max_bytes: int = DECODED_BYTES_MAX,
) -> Body:
    """``is_listed``: a catalogue lists the call, so that rules read its members. ``is_for_model``: the address is one
    of a language model (``llm_endpoints``).

    Raises AmbiguousRequestError; PayloadTooLargeError where a body that must be read is too large to be.
    """
    if not body:
        return _NO_BODY
    digest = sha256_hex(body)
    labelled = NO_CONTENT_TYPE if content_type is None else read_content_type(content_type)
    decoded, unread = (body, None) if reading is BodyReading.RAW else _decode(body, content_encoding, max_bytes)
    if unread is not None or reading is BodyReading.RAW:
        return _unread(body, content_type, digest, reading, unread)
    media_type = labelled.media_type
    is_json = media_type in _JSON or (media_type.endswith("+json") and not media_type.startswith(FRAMED))
    if reading is BodyReading.JSON and decoded.isspace():
        return Body(BodyKind.NONE, None, (), len(body), digest)
    if is_json or reading is BodyReading.JSON:
        return Body(BodyKind.JSON, _parse_json(decoded, labelled), (), len(body), digest)
    if media_type == _MULTIPART:
        return _read_multipart(decoded, labelled, len(body), digest)
    is_file = media_type in _OCTETS and not (is_listed or is_for_model)
    value, is_json = _try_json(decoded, is_file=is_file, is_for_model=is_for_model)
    if is_json:
        if media_type == _FORM and (b"&" in decoded or b"=" in decoded):
            # Without them it is one nameless field to a form's parser; with them it is two different messages.
            raise AmbiguousRequestError(
                "the body is JSON but labelled as a form: send it with Content-Type: application/json",
                details={"field": "body"},
            )
        return Body(BodyKind.JSON, value, (), len(body), digest, media_type != "")
    if media_type == _FORM:
        return _read_form(decoded, labelled, len(body), digest)
    if media_type.startswith("text/") or media_type in _TEXT or media_type.endswith("+xml"):
        return _read_text(body, decoded, content_type, labelled, digest)
    return _unread(body, content_type, digest, reading, None)


def _decode(body: bytes, content_encoding: str | None, max_bytes: int) -> tuple[bytes, str | None]:
    """The body without its content coding, or why it stays unread."""
    if content_encoding is None and len(body) <= max_bytes:
        return body, None
    coding = (content_encoding or "").strip().lower()
    if not content_coding.is_readable(coding):
        return body, "content_encoding"
    try:
        most = content_coding.decoded_bytes_max(len(body), max_bytes)
        return content_coding.decode(body, coding, max_bytes=most), None
    except PayloadTooLargeError:
        return body, "too_large"


def _read_form(decoded: bytes, labelled: ContentType, size: int, digest: str) -> Body:
    pairs = parse_form(decoded.decode("latin-1"))
    if not labelled.is_utf8 and not (labelled.extends_ascii and all(n.isascii() and v.isascii() for n, v in pairs)):
        raise AmbiguousRequestError(
            "the form names a charset other than UTF-8, which not all servers use",
            details={"field": "content-type"},
        )
    refuse_method_override((name for name, _ in pairs), field="body")
    return Body(BodyKind.FORM, lists_by_name(pairs), pairs, size, digest)


def _read_text(body: bytes, decoded: bytes, content_type: str | None, labelled: ContentType, digest: str) -> Body:
    if len(decoded) > TEXT_BYTES_MAX:
        return _unread(body, content_type, digest, BodyReading.BY_TYPE, "too_large")
    if not _is_read_as_utf8(decoded, labelled):
        return _unread(body, content_type, digest, BodyReading.BY_TYPE, "charset")
    try:
        text = decoded.decode()
    except UnicodeDecodeError:
        return _unread(body, content_type, digest, BodyReading.BY_TYPE, "charset")
    return Body(BodyKind.TEXT, text, (), len(body), digest)


def _read_multipart(decoded: bytes, labelled: ContentType, size: int, digest: str) -> Body:
    pairs = tuple((part.name, part.as_json()) for part in read_multipart(decoded, labelled))
    refuse_bracket_names((name for name, _ in pairs), field="body")
    refuse_method_override((name for name, _ in pairs), field="body")
    return Body(BodyKind.MULTIPART, lists_by_name(pairs), pairs, size, digest)


def _is_read_as_utf8(decoded: bytes, labelled: ContentType) -> bool:
    return labelled.is_utf8 or (labelled.extends_ascii and decoded.isascii())


def _parse_json(decoded: bytes, labelled: ContentType) -> JsonValue:
    if not _is_read_as_utf8(decoded, labelled):
        raise AmbiguousRequestError(
            "the JSON names a charset other than UTF-8, which not all servers use",
            details={"field": "content-type"},
        )
    try:
        value = parse_strict(decoded)
    except ValidationError as error:
        raise AmbiguousRequestError(f"the body: {error.message}", details={"field": "body"}) from error
    refuse_inexact_integers(decoded, value)
    _refuse_override(value)
    return value


def _refuse_override(value: JsonValue) -> None:
    """Laravel takes ``_method`` from an object in JSON as from a form."""
    if isinstance(value, dict):
        refuse_method_override(value, field="body")


def begins_as_json(text: bytes) -> bool:
    """Whether it may be an object or a list (RFC 8259, section 2)."""
    return text.lstrip(_JSON_SPACE)[:1].startswith(_JSON_START)


def _try_json(decoded: bytes, *, is_file: bool, is_for_model: bool) -> tuple[JsonValue, bool]:
    """An object or a list under another label than JSON's. A mark of the byte order is what lenient servers skip."""
    text = decoded.removeprefix(_BYTE_ORDER_MARK)
    if not begins_as_json(text):
        refuse_lenient_json(decoded, "its charset is not UTF-8", is_file=is_file, is_for_model=is_for_model)
        return None, False
    try:
        value = parse_strict(text)
    except ValidationError as error:
        refuse_lenient_json(text, error.message, is_file=is_file, is_for_model=is_for_model)
        return None, False
    refuse_inexact_integers(text, value)
    _refuse_override(value)
    return value, True


def _unread(body: bytes, content_type: str | None, digest: str, reading: BodyReading, reason: str | None) -> Body:
    if reading is BodyReading.JSON:
        raise PayloadTooLargeError(
            f"the gate must read the body, but cannot: {reason}", details={"field": "body", "reason": reason}
        )
    return Body(BodyKind.OPAQUE, _digest_only(body, content_type, digest, reason), (), len(body), digest)


def _digest_only(body: bytes, content_type: str | None, digest: str, reason: str | None) -> JsonObject:
    value: JsonObject = {"sha256": digest, "size": len(body), "content_type": content_type}
    if reason is not None:
        value["unread"] = reason
    return value
