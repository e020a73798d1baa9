"""Queries of DNS over HTTPS: in wire format (RFC 8484), in the JSON form of public resolvers, oblivious (RFC 9230).

A query reaches the servers of the name's zone, which no allowlist names, and the name can carry data (MITRE ATT&CK,
T1071.004). So a call that some resolver would answer counts as a query, whether its question can be read or not.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.content_type import read_content_type
from headgate.protocols.draft import ReadCall
from headgate.protocols.headers import Headers

_MESSAGE: Final = "application/dns-message"
_OBLIVIOUS: Final = "application/oblivious-dns-message"
_JSON: Final = "application/dns-json"
_RESOLVER_PATH: Final = "/dns-query"
_JSON_PATH: Final = "/resolve"
_JSON_HOSTS: Final = frozenset(
    {"dns.google", "dns.google.com", "8.8.8.8", "8.8.4.4", "2001:4860:4860::8888", "2001:4860:4860::8844"}
    | {"dns.alidns.com", "223.5.5.5", "223.6.6.6", "dns.adguard-dns.com"}
)
"""Resolvers that answer JSON at ``/resolve``, whatever the client accepts (their documentation, November 2026)."""

_HEADER_BYTES: Final = 12
_MESSAGE_BYTES_MAX: Final = 65_535
_NAME_BYTES_MAX: Final = 255
_LABEL_BYTES_MAX: Final = 63
_NOT_A_QUERY: Final = 0xF8
"""QR and OPCODE in the third byte of a message (RFC 1035, section 4.1.1): a response, or another kind of request."""
_RESPONSE: Final = 0x80
_POINTER: Final = 0xC0
_OFFSET: Final = 0x3FFF
_POINTERS_MAX: Final = 126
"""As many as Go's miekg/dns follows."""
_TYPE_AND_CLASS_BYTES: Final = 4
_ONE_QUESTION: Final = b"\x00\x01"
_PLAIN: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_*/")
_TYPES: Final[Mapping[int, str]] = MappingProxyType(
    {1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 10: "NULL", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA", 33: "SRV"}
    | {35: "NAPTR", 64: "SVCB", 65: "HTTPS", 255: "ANY", 257: "CAA"}
)
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9+/_-]+")
_TYPE_NAME: Final = re.compile(r"[A-Z][A-Z0-9]{0,15}")
_TYPE_NUMBER: Final = re.compile(r"[0-9]{1,5}")


class DnsForm(StrEnum):
    """How a query is written; policies see it as ``input.dns.form``."""

    MESSAGE = "message"
    JSON = "json"
    OBLIVIOUS = "oblivious"


class Question(Struct, frozen=True):
    """``name``: lower case, no final dot, other bytes as ``\\DDD`` (RFC 1035, section 5.1); ``.`` is the root.
    ``type`` is a mnemonic, or ``TYPE123`` (RFC 3597). ``trailing_bytes`` counts the EDNS options and padding.
    """

    name: str
    type: str
    trailing_bytes: int


def recognise(read_call: ReadCall, headers: Headers) -> JsonObject | None:
    """What policies read as ``input.dns``; None where the call is no query. Raises AmbiguousRequestError: Content-Type.

    ``{form, name, type, trailing_bytes}``; the last three are null where the question cannot be read.
    """
    call, query = read_call.call, read_call.query
    at_resolver = read_call.path.endswith(_RESOLVER_PATH)
    if call.method == "POST":
        media_type = read_content_type(headers.content_type or "").media_type
        if media_type == _OBLIVIOUS:
            return _facts(DnsForm.OBLIVIOUS)
        if media_type == _MESSAGE or at_resolver:
            return _facts(DnsForm.MESSAGE, read_question(call.body) if headers.content_encoding is None else None)
        return None
    if not query or call.method not in ("GET", "HEAD"):
        return None
    accepted = f"{headers.shown.get('accept', '')} {query.get('ct', '')}".lower()
    if "dns" in query:
        messages = [_decoded(value) for value in _texts(query["dns"])]
        if any(map(is_answerable, messages)) or at_resolver or _MESSAGE in accepted:
            # Beside a name of the JSON form, resolvers choose different questions.
            is_only = len(messages) == 1 and "name" not in query
            return _facts(DnsForm.MESSAGE, read_question(messages[0]) if is_only else None)
    if "name" in query and (
        at_resolver or _JSON in accepted or (read_call.path == _JSON_PATH and call.host in _JSON_HOSTS)
    ):
        return _json_facts(query)
    return None


def read_question(message: bytes) -> Question | None:
    """The one question of a standard query (RFC 1035, section 4.1; one only: RFC 9619). None for everything else: a
    response, several questions, a name that is compressed, cut or too long."""
    if not _HEADER_BYTES < len(message) <= _MESSAGE_BYTES_MAX:
        return None
    if message[2] & _NOT_A_QUERY or message[4:6] != _ONE_QUESTION:
        return None
    labels: list[bytes] = []
    at = _HEADER_BYTES
    while length := message[at]:
        end = at + 1 + length
        if length > _LABEL_BYTES_MAX or end >= len(message) or end - _HEADER_BYTES >= _NAME_BYTES_MAX:
            return None
        labels.append(message[at + 1 : end])
        at = end
    trailing_bytes = len(message) - (at + 5)
    if trailing_bytes < 0:
        return None
    number = int.from_bytes(message[at + 1 : at + 3])
    return Question(".".join(map(_label, labels)) or ".", _type_name(number), trailing_bytes)


def is_answerable(message: bytes) -> bool:
    """Whether some resolver answers the message, even if ``read_question`` cannot read it. Resolvers take the first of
    several questions, pass on requests with another opcode, and follow pointers in a name (RFC 1035, section 4.1.4),
    also into the header."""
    if not _HEADER_BYTES < len(message) <= _MESSAGE_BYTES_MAX or message[2] & _RESPONSE or not any(message[4:6]):
        return False
    at, end, name_bytes, pointers = _HEADER_BYTES, 0, 0, 0
    while at < len(message) and (length := message[at]):
        if length >= _POINTER:
            pointers += 1
            end = end or at + 2
            at = int.from_bytes(message[at : at + 2]) & _OFFSET
        else:
            name_bytes += length + 1
            at += length + 1
        if _LABEL_BYTES_MAX < length < _POINTER or name_bytes >= _NAME_BYTES_MAX or pointers > _POINTERS_MAX:
            return False
    return at < len(message) and (end or at + 1) + _TYPE_AND_CLASS_BYTES <= len(message)


def _decoded(value: str) -> bytes:
    """Of the query's ``dns``. RFC 8484, section 4.1 asks for base64url without padding; decoders also take the other
    alphabet, padding, and line breaks in between (Go's), so all of these count. Empty: the value is not base64."""
    text = _NOT_BASE64.sub("", value).replace("+", "-").replace("/", "_")
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return b""


def _json_facts(query: JsonObject) -> JsonObject:
    names, types = _texts(query["name"]), _texts(query.get("type", ["A"]))
    if not len(names) == len(types) == 1:
        return _facts(DnsForm.JSON)  # resolvers choose different ones
    name, kind = names[0].lower(), types[0].upper()
    if _TYPE_NUMBER.fullmatch(kind) is not None:
        kind = _type_name(int(kind))
    if _TYPE_NAME.fullmatch(kind) is None or not name or not name.isascii() or len(name) > _NAME_BYTES_MAX:
        return _facts(DnsForm.JSON)
    return {"form": DnsForm.JSON, "name": name.removesuffix(".") or ".", "type": kind, "trailing_bytes": None}


def _texts(values: JsonValue) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _facts(form: DnsForm, question: Question | None = None) -> JsonObject:
    if question is None:
        return {"form": form, "name": None, "type": None, "trailing_bytes": None}
    return {
        "form": form,
        "name": question.name,
        "type": question.type,
        "trailing_bytes": question.trailing_bytes,
    }


def _label(label: bytes) -> str:
    return "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03d}" for byte in label.lower())


def _type_name(number: int) -> str:
    return _TYPES.get(number, f"TYPE{number}")
