"""From an explicit action to the call that Headgate would make: the catalogue's other direction.

Pure. What is rendered is read again by ``interpret`` before anything is decided (``headgate.tools.explicit``), so that
whatever a policy says of an intercepted call it says of this one too, and a param that would make another call of it
is noticed.
"""

import re
from typing import Final
from urllib.parse import quote, urlencode

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.errors import ValidationError
from headgate.protocols.a2a import A2A_TOOL, CARD_OPERATION
from headgate.protocols.body import BodyReading
from headgate.protocols.http_call import HttpCall
from headgate.protocols.json_rpc import JSON_RPC_TOOL
from headgate.protocols.soap import SOAP_TOOL
from headgate.tools.generic import GENERIC_TOOL
from headgate.tools.match import CatalogueIndex
from headgate.tools.model import Content, Entry, Segment, SegmentKind, Sending
from headgate.tools.recognised import DNS_QUERY, DNS_TOOL, LLM_TOOL
from headgate.tools.render_graphql import graphql_content
from headgate.tools.render_http import render_http
from headgate.tools.unrendered import Unrendered, invalid

_ACCOUNT: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*")
_DIGITS: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_UNLISTED: Final = "unlisted_"
_FORM: Final = "application/x-www-form-urlencoded"


class Rendered(Struct, frozen=True):
    """``entry`` is None for a call that no entry lists."""

    call: HttpCall
    entry: Entry | None


def render(tool: str, operation: str, params: JsonObject, catalogue: CatalogueIndex) -> Rendered | Unrendered:
    """Unrendered where Headgate has no call for it: the agent carries it out itself. Raises ValidationError, whose
    details name the param, where it has one but a value is missing or cannot be sent."""
    entries = catalogue.tools.get(tool)
    if (method := _method_of(tool, operation)) is not None:
        call = render_http(method, params)
        return call if isinstance(call, Unrendered) else Rendered(call, None)
    if tool == GENERIC_TOOL or (entries is not None and operation.startswith(_UNLISTED)):
        call = render_http(operation.removeprefix(_UNLISTED), params)
        return call if isinstance(call, Unrendered) else Rendered(call, None)
    if entries is None:
        return Unrendered(f"no catalogue knows the tool {tool}")
    entry = entries.get(operation)
    if entry is None:
        return Unrendered(f"the catalogue of {tool} has no operation {operation}")
    if entry.reading is BodyReading.RAW:
        return Unrendered(f"{operation} takes an upload, which params do not hold")
    return _render_entry(entry, params, catalogue)


def _method_of(tool: str, operation: str) -> str | None:
    """Of a call that is recognised by its address and body, whatever its method is called."""
    if tool in (A2A_TOOL, JSON_RPC_TOOL, LLM_TOOL, SOAP_TOOL):
        return "get" if operation == CARD_OPERATION else "post"
    return "get" if (tool, operation) == (DNS_TOOL, DNS_QUERY) else None


def _render_entry(entry: Entry, params: JsonObject, catalogue: CatalogueIndex) -> Rendered:
    sending, left = entry.sending, dict(params)
    host = sending.host
    if host.startswith("*."):
        host_index = catalogue.for_host("any" + host[1:])
        name = None if host_index is None else host_index.catalogue.host_param
        account = None if name is None else left.pop(name, None)
        if account is None:
            raise invalid(name or "host", f"is missing: it completes the host name {host}")
        if not isinstance(account, str) or _ACCOUNT.fullmatch(account) is None:
            raise invalid(name or "host", "is not a lower-case label of a host name")
        host = account + host[1:]
    path = _path(entry, left)
    headers = [(name.encode(), value.encode()) for name, value in sending.headers.items()]
    for header, name in entry.mapping.headers.items():
        if name in left:
            headers.append((header.encode(), _header_value(name, left.pop(name))))
    query, content = _query_and_content(entry, sending, left)
    body = b""
    if content and sending.content is Content.JSON:
        body = canonical_bytes(_whole_or_members(content))
        headers.append((b"Content-Type", b"application/json"))
    elif content:
        body = _pairs(entry, content).encode()
        headers.append((b"Content-Type", _FORM.encode()))
    call = HttpCall(
        method=sending.method,
        scheme=sending.scheme,
        host=host,
        port=sending.port,
        path=path,
        query=_pairs(entry, query),
        headers=tuple(headers),
        body=body,
    )
    return Rendered(call, entry)


def _path(entry: Entry, left: JsonObject) -> str:
    """Takes what the path holds out of ``left``."""
    path: list[str] = []
    for segment in entry.path:
        if segment.kind is SegmentKind.LITERAL:
            path.append(segment.text)
        elif segment.text not in left and segment.text in entry.sending.defaults:
            path.append(_path_segment(entry, segment, entry.sending.defaults[segment.text]))
        elif segment.text not in left:
            raise invalid(segment.text, f"is missing: the path of {entry.operation} needs it")
        else:
            path.append(_path_segment(entry, segment, left.pop(segment.text)))
    return "/" + "/".join(path)


def _query_and_content(entry: Entry, sending: Sending, left: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Every param where the API expects it, under the API's name; what makes the call this operation is added."""
    if entry.graphql is not None:
        return {}, graphql_content(entry.graphql, left)
    to_query = {param: name for name, param in reversed(tuple(entry.mapping.rename_query.items()))}
    to_body = {param: name for name, param in reversed(tuple(entry.mapping.rename_body.items()))}
    query: JsonObject = {}
    content: JsonObject = {}
    for param, value in left.items():
        in_query = param in to_query or param in sending.query or param in entry.conditions.query
        if in_query or (sending.content is Content.QUERY and param not in to_body):
            query[to_query.get(param, param)] = value
        else:
            content[to_body.get(param, param)] = value
    for name, value in entry.conditions.query.items():
        query.setdefault(name, value)
    for name, body_value in entry.conditions.body.items():
        content.setdefault(name, body_value)
    return query, content


def _whole_or_members(content: JsonObject) -> JsonValue:
    """A list under ``body`` alone is how ``interpret`` shows a body that is a list."""
    if list(content) == ["body"] and isinstance(content["body"], list):
        return content["body"]
    return content


def _path_segment(entry: Entry, segment: Segment, value: JsonValue) -> str:
    kind, name = segment.kind, segment.text
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text:
        raise invalid(name, "must be a text or a whole number: it is part of the path")
    if kind is SegmentKind.INTEGER and _DIGITS.fullmatch(text) is None:
        raise invalid(name, "must be a whole number without a sign or leading zeros")
    is_rest = kind is SegmentKind.REST
    pieces = text.split("/") if is_rest or entry.encoded_slashes else [text]
    for piece in pieces:
        if not piece or piece.partition(";")[0] in (".", "..") or "/" in piece or "\\" in piece:
            raise invalid(name, "would lead to another path: it holds a slash, a dot segment or nothing")
        if any(character < " " or character == "\x7f" for character in piece):
            raise invalid(name, "holds a control character")
    return ("/" if is_rest else "%2F").join(quote(piece, safe="") for piece in pieces)


def _header_value(name: str, value: JsonValue) -> bytes:
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        raise invalid(name, "travels in a header: it must be visible ASCII")
    return value.encode()


def _pairs(entry: Entry, members: JsonObject) -> str:
    pairs: list[tuple[str, str]] = []
    for name, value in members.items():
        if isinstance(value, list) and (name in entry.mapping.repeated or name.endswith("[]")):
            pairs += [(name, _field(name, one)) for one in value]
        else:
            pairs.append((name, _field(name, value)))
    return urlencode(pairs)


def _field(name: str, value: JsonValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
        case float():
            return canonical_bytes(value).decode()
        case _:
            raise ValidationError(
                f"params.{name}: travels in the query or a form, which hold texts, numbers and true or false",
                details={"field": f"params.{name}", "reason": "not a scalar"},
            )
