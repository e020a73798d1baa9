"""The generic tool ``http``: a call as its params say it, in the form in which ``interpret`` shows one.

``{scheme, host, port, path, query, headers, body}``, or ``url`` in place of the first five. The operation is the
method.
"""

from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.protocols.http_call import HttpCall
from headgate.tools.unrendered import Unrendered, invalid

_METHODS: Final = frozenset({"get", "head", "options", "post", "put", "patch", "delete"})
_MEMBERS: Final = frozenset({"url", "scheme", "host", "port", "path", "query", "headers", "body"})
_PORTS: Final = {"https": 443, "http": 80}
_PATH_SAFE: Final = "/%!$&'()*+,;=:@-._~"
# Ours to set: the connection's, and what would say another host or another length than what is sent.
_OWN_HEADERS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive", "expect"}
    | {"x-agent-key", "x-agent-id"}
)


def render_http(operation: str, params: JsonObject) -> HttpCall | Unrendered:
    """Raises ValidationError, whose details name the param."""
    if operation not in _METHODS:
        return Unrendered(f"{operation} is no method that is sent")
    if unknown := sorted(params.keys() - _MEMBERS):
        return Unrendered(f"{unknown[0][:64]} is no param of an HTTP call")
    if "url" in params:
        if beside := sorted(params.keys() & {"scheme", "host", "port", "path"}):
            raise invalid(beside[0], "is in the url already")
        scheme, host, port, path, query = _from_url(params["url"])
    elif "host" in params:
        scheme, host, port, path, query = _from_members(params)
    else:
        return Unrendered("url or host is missing")
    if "query" in params:
        if query:
            raise invalid("query", "is in the url already")
        query = _query(params["query"])
    headers = _headers(params.get("headers", {}))
    body = b""
    if "body" in params:
        body, content_type = _body(params["body"], _content_type(headers))
        if content_type is not None:
            headers.append((b"Content-Type", content_type.encode()))
    return HttpCall(operation.upper(), scheme, host, port, path, query, tuple(headers), body)


def _from_url(url: JsonValue) -> tuple[str, str, int, str, str]:
    if not isinstance(url, str) or not url.isascii() or any(character <= " " for character in url):
        raise invalid("url", "must be an absolute URL in ASCII, without spaces")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise invalid("url", "is no URL") from error
    if parts.scheme not in _PORTS or not parts.hostname:
        raise invalid("url", "must begin with https:// or http:// and a host")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise invalid("url", "holds credentials or a fragment, which are no part of a request")
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme], parts.path or "/", parts.query


def _from_members(params: JsonObject) -> tuple[str, str, int, str, str]:
    scheme, host, path = params.get("scheme", "https"), params["host"], params.get("path", "/")
    if not isinstance(scheme, str) or scheme not in _PORTS:
        raise invalid("scheme", "must be https or http")
    if not isinstance(host, str) or not host:
        raise invalid("host", "must be a host name or an address")
    port = params.get("port", _PORTS[scheme])
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= 65535:
        raise invalid("port", "must be a whole number from 1 to 65535")
    if not isinstance(path, str) or not path.startswith("/"):
        raise invalid("path", "must begin with /")
    return scheme, host, port, quote(path, safe=_PATH_SAFE), ""


def _query(query: JsonValue) -> str:
    if not isinstance(query, dict):
        raise invalid("query", "must be an object: names with a text or a list of texts")
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        values = value if isinstance(value, list) else [value]
        pairs += [(name, _text(f"query.{name[:64]}", one)) for one in values]
    return urlencode(pairs)


def _headers(headers: JsonValue) -> list[tuple[bytes, bytes]]:
    if not isinstance(headers, dict):
        raise invalid("headers", "must be an object: names with a text or a list of texts")
    found: list[tuple[bytes, bytes]] = []
    for name, value in headers.items():
        field = f"headers.{name[:64]}"
        if name.lower() in _OWN_HEADERS or name.lower().startswith("proxy-"):
            raise invalid(field, "is set by Headgate, or never sent on")
        for one in value if isinstance(value, list) else [value]:
            text = _text(field, one)
            if any((character < " " and character != "\t") or character == "\x7f" for character in text):
                raise invalid(field, "holds a control character")
            try:
                found.append((name.encode("ascii"), text.encode("latin-1")))
            except UnicodeEncodeError as error:
                raise invalid(field, "cannot be sent in a header") from error
    return found


def _content_type(headers: list[tuple[bytes, bytes]]) -> str | None:
    return next((value.decode("latin-1") for name, value in headers if name.lower() == b"content-type"), None)


def _body(body: JsonValue, content_type: str | None) -> tuple[bytes, str | None]:
    """The bytes, and the type to be said where none was."""
    media_type = "" if content_type is None else content_type.partition(";")[0].strip().lower()
    if media_type == "application/x-www-form-urlencoded":
        return _query(body).encode(), None
    if media_type in ("", "application/json", "text/json") or media_type.endswith("+json"):
        return canonical_bytes(body), None if media_type else "application/json"
    if isinstance(body, str):
        return body.encode(), None
    raise invalid("body", f"must be a text to be sent as {media_type}")


def _text(field: str, value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise invalid(field, "must be a text")
