"""The bytes of a held call's body that its params do not show: binary bodies, long texts, and files of a form. Pure.

The record of a held call keeps them in its last member, ``unparsed_body``, so that a reviewer sees what an approval
covers (decision 0085). They share the life of the record: its rights, encryption, retention, erasure and legal holds.
Policies do not read them.
"""

import base64
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from headgate.actions.form_secrets import mask_form_parts
from headgate.actions.masking import default_masker
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict, sha256_hex
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError
from headgate.kernel.secrets import MASK
from headgate.protocols import content_coding
from headgate.protocols.aws_chunks import AWS_CHUNKED, joined_chunks
from headgate.protocols.body import DECODED_BYTES_MAX, BodyKind
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall

UNPARSED_BODY: Final = "unparsed_body"
_PLAIN: Final = frozenset({"", "identity"})


class UnparsedBody(Struct, frozen=True):
    """The bytes as they are kept, without the bytes. ``sha256``: of them, as ``sha256:<hex>``. ``masked_places``: how
    many secrets in them are masked. ``decoded_from``: the content coding that was removed; None: there was none, or it
    cannot be read."""

    size: int
    sha256: str
    content_type: str | None
    masked_places: int = 0
    decoded_from: str | None = None

    @property
    def is_exact(self) -> bool:
        """Whether these are the bytes that are sent."""
        return self.masked_places == 0 and self.decoded_from is None


def has_unparsed_body(draft: ActionDraft) -> bool:
    """Whether the params of an intercepted call show less than its body holds."""
    if draft.source != "proxy" or draft.read_call is None or not draft.read_call.call.body:
        return False
    shown = parse_strict(draft.read_call.shown)
    kind = shown.get("body_kind") if isinstance(shown, dict) else None
    return kind == BodyKind.OPAQUE or (kind == BodyKind.MULTIPART and _has_file(draft.params))


def unparsed_body(call: HttpCall) -> tuple[UnparsedBody, bytes]:
    """The body of ``call`` as it is kept: without its content coding, where that can be read, and with secrets masked.
    What a compressed body or an archive holds cannot be masked."""
    content, coding = _decoded(call)
    content_type = _header(call, b"content-type")
    # ISO 8859-1 maps each byte to one character, so that everything but what is masked survives.
    text = content.decode("latin-1")
    form = mask_form_parts(text) if "multipart/form-data" in (content_type or "").lower() else text
    masked = default_masker().mask_text(form)
    places = 0 if masked == text else max(1, masked.count(MASK) - text.count(MASK))
    kept = masked.encode("latin-1") if places else content
    return UnparsedBody(len(kept), sha256_hex(kept), content_type, places, coding), kept


def with_unparsed_body(request: bytes, call: HttpCall) -> bytes:
    """A record, which is a canonical object, with the body as its last member: no other name sorts after it."""
    body, content = unparsed_body(call)
    # "content" is the first member in canonical order, and base64 needs no escapes: ten megabytes of it are not encoded
    # again, which would stop the event loop.
    rest = canonical_bytes(asdict(body))[1:]
    pieces = (
        request[:-1],
        b',"',
        UNPARSED_BODY.encode(),
        b'":{"content":"',
        base64.b64encode(content),
        b'",',
        rest,
        b"}",
    )
    return b"".join(pieces)


def read_unparsed_body(member: JsonValue) -> UnparsedBody | None:
    """From the member of a record. None: the record has none."""
    if not isinstance(member, dict):
        return None
    size, digest, places = member.get("size"), member.get("sha256"), member.get("masked_places")
    content_type, coding = member.get("content_type"), member.get("decoded_from")
    return UnparsedBody(
        size if isinstance(size, int) else 0,
        str(digest),
        content_type if isinstance(content_type, str) else None,
        places if isinstance(places, int) else 0,
        coding if isinstance(coding, str) else None,
    )


def kept_bytes(member: JsonObject) -> bytes:
    """The bytes in the member of a record."""
    return base64.b64decode(str(member["content"]))


def _decoded(call: HttpCall) -> tuple[bytes, str | None]:
    """Without its content coding, and with chunks of AWS joined: a secret that two chunks share would not be masked."""
    try:
        chunks = joined_chunks(call.headers, call.body)
    except AmbiguousRequestError:
        chunks = None
    if chunks is None:
        return _without_coding(call.body, (_header(call, b"content-encoding") or "").strip().lower())
    content, coding = _without_coding(chunks.content, chunks.coding)
    return content, AWS_CHUNKED if coding is None else f"{coding},{AWS_CHUNKED}"


def _without_coding(body: bytes, coding: str) -> tuple[bytes, str | None]:
    if coding in _PLAIN or not content_coding.is_readable(coding):
        return body, None
    try:
        most = content_coding.decoded_bytes_max(len(body), DECODED_BYTES_MAX)
        return content_coding.decode(body, coding, max_bytes=most), coding
    except (AmbiguousRequestError, PayloadTooLargeError):
        return body, None


def _header(call: HttpCall, wanted: bytes) -> str | None:
    return next((value.decode("latin-1") for name, value in call.headers if name.lower() == wanted), None)


def _has_file(value: JsonValue) -> bool:
    """As ``headgate.protocols.multipart.Part`` describes one."""
    if isinstance(value, dict):
        return {"filename", "sha256"} <= value.keys() or any(map(_has_file, value.values()))
    return isinstance(value, list) and any(map(_has_file, value))
