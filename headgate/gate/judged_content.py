"""Extracts the text that content policies judge from an action: everything that would be sent.

A catalogue names some fields of a call, but all are sent, so the body is judged as well as the params. So is the
message of a WebSocket, of which the params may have the digest only. Files and archives are attachments, which
detectors open. Unreadable content is reported, because finding nothing in it proves nothing.
"""

import binascii
import re
from collections.abc import Iterator
from typing import Final

from regorus import as_text

from headgate.detectors.document import Attachment
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError, ValidationError
from headgate.nlp_policies.content import JudgedContent
from headgate.protocols import content_coding
from headgate.protocols.aws_chunks import joined_chunks
from headgate.protocols.content_type import read_content_type
from headgate.protocols.draft import ActionDraft, ProtocolFacts
from headgate.protocols.grpc import GRPC_TOOL, MESSAGES
from headgate.protocols.headers import header_lists
from headgate.protocols.http_call import HttpCall
from headgate.protocols.multipart import split_pieces
from headgate.protocols.query import lists_by_name, parse_pairs
from headgate.protocols.websocket import MESSAGE

_DECODED_BYTES_MAX: Final = 1024 * 1024
_GENERIC_MEMBERS: Final = frozenset(("scheme", "host", "headers"))
_EMPTY: Final = b"{}"
_FORM: Final = "application/x-www-form-urlencoded"
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/=\s]+")
_BASE64_TEXT: Final = re.compile(rb"[A-Za-z0-9+/\s]+=*")
_SCHEME: Final = re.compile(r"^(?:Bearer|Basic|Token|Digest|Negotiate) +", re.IGNORECASE)  # RFC 9110, section 11.4


def judged_content(draft: ActionDraft) -> JudgedContent:
    value: JsonObject = {"tool": draft.tool, "operation": draft.operation}
    for name, piece in (("context", draft.context), ("delegation", draft.delegation)):
        if piece != _EMPTY:
            value[name] = parse_strict(piece)
    if draft.read_call is None:
        value["params"] = draft.params
        return JudgedContent(value)
    http = parse_strict(draft.read_call.shown)
    assert isinstance(http, dict)  # noqa: S101 - made by make_read_call
    value["http"] = http
    if not draft.params.keys() >= _GENERIC_MEMBERS:  # those of a generic call are the call itself, said once above
        value["params"] = draft.params
    call = draft.read_call.call
    if draft.message is not None:
        return _message(draft, draft.message, value, _sent(call))
    if draft.facts is not None and MESSAGES in draft.params and draft.facts.member == GRPC_TOOL:
        return _messages(draft, draft.facts, value, call)
    headers, sent = http["headers"], _sent(call)
    try:
        chunks = joined_chunks(call.headers, call.body)
        if chunks is None:
            decoded = _decoded(call.body, _field(headers, "content-encoding"))
        else:
            decoded = _decoded(chunks.content, chunks.coding)
            value["trailers"] = [[name, text] for name, text in chunks.trailers]
    except PayloadTooLargeError as error:
        return JudgedContent(value, unread=error.message, sent=sent)
    except AmbiguousRequestError as error:
        as_sent = (Attachment(("body",), call.body),)  # a server may ignore the label
        return JudgedContent(value, sent=sent, attachments=as_sent, unscannable=error.message)
    attachments: list[Attachment] = []
    if decoded:
        body = _body(decoded, _field(headers, "content-type"), attachments)
        if body is not None:
            value["body"] = body
    return JudgedContent(value, sent=sent, attachments=tuple(attachments))


def messages_of(value: JsonValue) -> list[JsonValue]:
    """What is judged of each message of a connection, in a content that is one of them, or several of gRPC."""
    if not isinstance(value, dict):
        return []
    messages = value.get(MESSAGES)
    if isinstance(messages, list):
        return messages
    return [value["body"]] if "body" in value else []


def _messages(draft: ActionDraft, facts: ProtocolFacts, value: JsonObject, call: HttpCall) -> JudgedContent:
    """Of gRPC: the body is what its messages are. Bytes in them are attachments, and the body itself where they cannot
    be read: whoever sends that needs no server of gRPC."""
    value[MESSAGES] = draft.params[MESSAGES]
    attachments = tuple(Attachment(place, data) for place, data in facts.opaque)
    if facts.unread is not None:
        attachments += tuple(Attachment(("body",), one) for one in _as_sent(call.body))
    sent = _sent(call)
    unscannable = None if facts.unread is None else f"the call's messages cannot be read: {facts.unread}"
    return JudgedContent(value, sent=sent, attachments=attachments, unscannable=unscannable)


def _as_sent(body: bytes) -> Iterator[bytes]:
    """The body, and what it holds in base64 (``application/grpc-web-text``): perhaps several texts in a row."""
    yield body
    if body and _BASE64.fullmatch(body) is not None:
        try:
            yield b"".join(binascii.a2b_base64(one) for one in _BASE64_TEXT.findall(body))
        except binascii.Error:
            return


def _message(draft: ActionDraft, message: bytes, value: JsonObject, sent: dict[str, list[str]]) -> JudgedContent:
    """Of a WebSocket: its bytes, in place of what the params show of them."""
    value["params"] = {name: one for name, one in draft.params.items() if name != MESSAGE}
    attachments: list[Attachment] = []
    body = _body(message, "", attachments) if message else None
    if body is not None:
        value["body"] = body
    return JudgedContent(value, sent=sent, attachments=tuple(attachments))


def _sent(call: HttpCall) -> dict[str, list[str]]:
    """What the fields hold that are masked in ``http``: cookies by name and value, others without their scheme."""
    secret = header_lists().secret
    sent: dict[str, list[str]] = {}
    for raw_name, raw_value in call.headers:
        name = raw_name.decode("latin-1").lower()
        if name in secret:
            value = raw_value.decode("utf-8", "replace")
            texts = _cookie_texts(value) if name == "cookie" else [_SCHEME.sub("", value)]
            sent.setdefault(name, []).extend(text for text in texts if text)
    return sent


def _cookie_texts(value: str) -> list[str]:
    """The values, then the names: each side by side, as a text may be cut into several."""
    pairs = [pair.strip().partition("=") for pair in value.split(";")]
    return [*(text for _, _, text in pairs), *(name for name, _, _ in pairs)]


def _field(headers: JsonValue, name: str) -> str:
    """Of the fields as they are shown. One that says how the body is read is there once (``protocols.headers``)."""
    return str(headers.get(name, "") if isinstance(headers, dict) else "").strip()


def _decoded(content: bytes, coding: str) -> bytes:
    """Raises AmbiguousRequestError and PayloadTooLargeError."""
    if not content:
        return b""
    if not content_coding.is_readable(coding.lower()):
        raise AmbiguousRequestError("the body's content coding is unknown")
    return content_coding.decode(content, coding.lower(), max_bytes=_DECODED_BYTES_MAX)


def _body(decoded: bytes, content_type: str, attachments: list[Attachment]) -> JsonValue:
    """As JSON or text, or None where it is an attachment."""
    if content_type.lower().startswith("multipart/"):
        try:
            pieces = split_pieces(decoded, read_content_type(content_type).boundary)
        except AmbiguousRequestError:
            pass
        else:
            return [_piece(piece, ("body", number), attachments) for number, piece in enumerate(pieces)]
    text = as_text(decoded)
    if text is None:
        attachments.append(Attachment(("body",), decoded))
        return None
    if content_type.lower().startswith(_FORM):
        try:
            return lists_by_name(parse_pairs(text, field="body"))
        except AmbiguousRequestError:
            pass
    try:
        return parse_strict(decoded)
    except ValidationError:
        return text


def _piece(piece: bytes, path: tuple[str | int, ...], attachments: list[Attachment]) -> JsonValue:
    """One part of a multipart body: its header fields as they stand, file names too, and what it holds."""
    head, separator, content = piece.partition(b"\r\n\r\n")
    shown: JsonObject = {"head": head.decode("utf-8", "replace")}
    if not separator or not content:
        return shown
    text = as_text(content)
    if text is None:
        attachments.append(Attachment((*path, "content"), content))
        return shown
    try:
        return {**shown, "content": parse_strict(content)}
    except ValidationError:
        return {**shown, "content": text}
