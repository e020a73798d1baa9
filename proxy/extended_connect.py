"""A WebSocket over HTTP/2 (RFC 8441) as the handshake of HTTP/1.1 that it stands for (RFC 6455, 4): what is asked for,
and what a server's answer to it means. Pure.

Everything behind ``proxy.http2`` decides, records and forwards the one kind of handshake that it knows.
"""

import base64
import hashlib
import time
from collections.abc import Iterable, Mapping
from typing import Final

from mitmproxy.connection import Client
from mitmproxy.http import Headers, Request, Response
from mitmproxy.proxy.layers.http._http2 import normalize_h1_headers

from headgate.kernel.errors import AmbiguousRequestError, ProtocolRefusedError
from proxy.websocket_extensions import agreed

KEY_BYTES: Final = 16
_VERSION: Final = b"HTTP/1.1"
_ACCEPTED_BY: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
SWITCHED: Final = 101
_PSEUDO: Final = frozenset({b":method", b":protocol", b":scheme", b":path", b":authority"})
_OF_HTTP1: Final = frozenset(
    {b"connection", b"upgrade", b"sec-websocket-key", b"sec-websocket-accept", b"content-length", b"transfer-encoding"}
)
"""What frames a body, or belongs to the handshake of HTTP/1.1 (RFC 8441, 5): no part of either head over HTTP/2."""


def is_connect(fields: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether this head of HTTP/2 asks for a tunnel, of whatever kind."""
    return any(name == b":protocol" or (name == b":method" and value == b"CONNECT") for name, value in fields)


def handshake(fields: Iterable[tuple[bytes, bytes]], key: bytes, *, is_ended: bool) -> Request:
    """``fields``: a head of HTTP/2 inside of a tunnel; ``key``: 16 random bytes; ``is_ended``: the client has nothing
    more to say. Raises AmbiguousRequestError, ProtocolRefusedError."""
    pseudo: dict[bytes, bytes] = {}
    headers: list[tuple[bytes, bytes]] = []
    cookies: list[bytes] = []
    for name, value in fields:
        if name.startswith(b":"):
            if name in pseudo or name not in _PSEUDO:
                raise AmbiguousRequestError("the pseudo-header fields of the request have no one reading")
            pseudo[name] = value
        elif name.replace(b"_", b"-") in _OF_HTTP1:
            raise AmbiguousRequestError(f"the header {name.decode('ascii', 'replace')} has no place in this request")
        elif name == b"cookie":
            cookies.append(value)
        else:
            headers.append((name, value))
    _check_pseudo(pseudo)
    if is_ended:
        raise AmbiguousRequestError("the request for a WebSocket ends its stream")
    if cookies:
        headers.append((b"cookie", b"; ".join(cookies)))  # RFC 9113, 8.2.3
    if not any(name == b"host" for name, _ in headers):
        headers.insert(0, (b"host", pseudo[b":authority"]))
    elif any(name == b"host" and value != pseudo[b":authority"] for name, value in headers):
        raise AmbiguousRequestError("the Host header differs from the :authority")
    switch = [(b"connection", b"Upgrade"), (b"upgrade", b"websocket"), (b"sec-websocket-key", base64.b64encode(key))]
    return Request(
        host="",
        port=0,
        method=b"GET",
        scheme=b"https",
        authority=b"",
        path=pseudo[b":path"],
        http_version=_VERSION,
        headers=Headers([*headers, *switch]),
        content=None,
        trailers=None,
        timestamp_start=time.time(),
        timestamp_end=None,
    )


def _check_pseudo(fields: Mapping[bytes, bytes]) -> None:
    if b":protocol" not in fields or fields.get(b":method") != b"CONNECT":
        raise AmbiguousRequestError("CONNECT inside a tunnel")
    if fields[b":protocol"] != b"websocket":
        raise ProtocolRefusedError("CONNECT with a protocol other than websocket: the gate cannot inspect what follows")
    if not fields.get(b":authority") or not fields.get(b":path") or fields.get(b":scheme") != b"https":
        raise AmbiguousRequestError("a WebSocket over HTTP/2 needs :authority, :path, and https as :scheme")


def came_over_http2(request: Request, client: Client) -> bool:
    """Whether ``handshake`` has made it: every other request of such a connection has the version HTTP/2.0."""
    return client.alpn == b"h2" and request.data.http_version == _VERSION


def not_opened(request: Request, response: Response) -> str | None:
    """Why this answer to a handshake must not reach a client of HTTP/2, to which every 2xx says that the WebSocket is
    open; None: it may, be it that it opens the WebSocket or that it refuses. The client sees neither key nor proof, so
    that nobody but the gate can compare them (RFC 6455, 4.1)."""
    if 200 <= response.status_code < 300:
        return "the server answered the handshake of a WebSocket without switching to it"
    if response.status_code != SWITCHED:
        return None
    key = request.headers.get("sec-websocket-key", "").encode("ascii", "replace")
    proof = base64.b64encode(hashlib.sha1(key + _ACCEPTED_BY, usedforsecurity=False).digest())
    told = response.headers
    options = {option.strip().lower() for option in told.get("connection", "").split(",")}
    if (
        told.get("upgrade", "").lower() != "websocket"
        or "upgrade" not in options
        or told.get_all("sec-websocket-accept") != [proof.decode()]
    ):
        return "the server's answer to the handshake of a WebSocket does not prove that it has read it"
    if agreed(told.get("sec-websocket-extensions", "")) is None:
        return "the server's answer to the handshake of a WebSocket agrees on an extension that the gate cannot read"
    return None


def opened_head(response: Response) -> list[tuple[bytes, bytes]]:
    """Of HTTP/2, for a 101 of HTTP/1.1."""
    fields = [(name, value) for name, value in response.headers.fields if name.lower() not in _OF_HTTP1]
    return [(b":status", b"200"), *normalize_h1_headers(fields, is_client=False)]
