"""Refuses malformed, ambiguous or too large requests before a decision."""

from typing import Final

from mitmproxy.http import HTTPFlow, RequestData
from msgspec import Struct

from addons.refuse import refuse_and_close
from addons.verdict import flow_state, is_open
from addons.wellformed import (
    ambiguous,
    canonical_host,
    check_authority,
    check_fields,
    check_meaning,
    check_method,
    check_target,
    check_version,
)
from headgate.kernel.errors import HeadgateError, PayloadTooLargeError, ProtocolRefusedError
from headgate.organizations.ports import BAD_PORTS

MIB: Final = 1 << 20


class RequestLimits(Struct, frozen=True):
    """In bytes, but for ``header_fields``, ``head_seconds`` (from the first byte of a head, or of the handshake before
    it, to its end), ``upload_seconds`` (from the head of a request to the end of its body) and ``pause_seconds``
    (without a byte of a call of gRPC, before it is decided without its end).

    ``buffered`` is for all request bodies of one process together.
    """

    body: int = 10 * MIB
    buffered: int = 512 * MIB
    head: int = 64 << 10
    header_fields: int = 200
    target: int = 16 << 10
    head_seconds: float = 30.0
    upload_seconds: float = 120.0
    pause_seconds: float = 0.1


class Limits:
    """The second addon: after it, a request has one reading and one destination, and fits."""

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits

    def http_connect(self, flow: HTTPFlow) -> None:
        if is_open(flow):
            try:
                self._check_connect(flow.request.data)
            except HeadgateError as error:
                refuse_and_close(flow, error)

    def requestheaders(self, flow: HTTPFlow) -> None:
        if is_open(flow):
            try:
                self._check_request(flow)
            except HeadgateError as error:
                refuse_and_close(flow, error)

    def request(self, flow: HTTPFlow) -> None:
        if not is_open(flow):
            return
        data = flow.request.data
        if data.trailers:
            refuse_and_close(flow, ProtocolRefusedError("trailers are refused: no policy has seen them"))
        elif data.http_version == b"HTTP/2.0" and not _has_declared_length(data):
            # RFC 9113, 8.1.1: malformed, and not to be forwarded (H2.CL). What comes next would be read as its body.
            refuse_and_close(flow, ambiguous("the body is not as long as its Content-Length says"))

    def _check_connect(self, data: RequestData) -> None:
        check_version(data.http_version, is_http2=False)
        data.host = canonical_host(data.host)
        _check_port(data.port)
        seen = check_fields(data.headers.fields, max_count=self._limits.header_fields, max_bytes=self._limits.head)
        if (host := seen.get(b"host")) is not None:
            check_authority(host, host=data.host, port=data.port, scheme="https", what="the Host header of CONNECT")
        if b"content-length" in seen or b"transfer-encoding" in seen:
            raise ambiguous("CONNECT with a body")  # RFC 9110, 9.3.6: its bytes could be the tunnel's first request

    def _check_request(self, flow: HTTPFlow) -> None:
        data = flow.request.data
        client = flow.client_conn
        # On such a connection only the handshake of a WebSocket has this version (``proxy.extended_connect``).
        is_http2 = client.alpn == b"h2" and data.http_version != b"HTTP/1.1"
        check_version(data.http_version, is_http2=is_http2)
        check_method(data.method)
        check_target(data.path, max_bytes=self._limits.target)
        seen = check_fields(data.headers.fields, max_count=self._limits.header_fields, max_bytes=self._limits.head)
        scheme = data.scheme.decode("ascii", "replace")
        data.host = canonical_host(data.host)
        state = flow_state(flow)
        if not state.origin_form:
            _check_port(data.port)
        host = seen.get(b"host")
        if is_http2:
            check_authority(data.authority, host=data.host, port=data.port, scheme=scheme, what="the :authority")
            if host is not None:
                check_authority(host, host=data.host, port=data.port, scheme=scheme, what="the Host header")
        else:
            if data.authority:
                raise ambiguous("an absolute URL in the request line inside a tunnel")
            if host is None:
                raise ambiguous("exactly one Host header is needed")
            check_authority(host, host=data.host, port=data.port, scheme=scheme, what="the Host header")
        if state.tunnelled and client.sni is not None and canonical_host(client.sni) != data.host:
            raise ambiguous("the server name of the TLS handshake (SNI) is not the host of the request")
        check_meaning(seen, data)
        declared = seen.get(b"content-length")
        # mitmproxy has checked that these are digits; so many of them are too many.
        if declared is not None and (len(declared) > 18 or int(declared) > self._limits.body):
            raise body_too_large(self._limits.body)


def _has_declared_length(data: RequestData) -> bool:
    """HTTP/2 frames a body whatever its Content-Length says; HTTP/1 cannot differ from it."""
    declared = data.headers.get("content-length")
    return declared is None or int(declared) == len(data.content or b"")


def body_too_large(max_bytes: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"the request's body is larger than {max_bytes} bytes", details={"max_bytes": max_bytes}
    )


def _check_port(port: int) -> None:
    if port in BAD_PORTS or not 1 <= port <= 65535:
        # HTTP spoken to a mail or database server is how a request becomes that protocol's commands.
        raise ProtocolRefusedError(f"port {port} belongs to a protocol other than HTTP", details={"port": port})
