"""One reading only: a request that another parser could take for a different one is refused.

Pure checks on the request as it will be written upstream. mitmproxy validates framing (Content-Length against
Transfer-Encoding, header names); this adds what it lets through: hosts, targets, header values and headers
that change what the request means (RFC 9110, RFC 9112, RFC 9113; the attacks are named where they are stopped).
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final

from mitmproxy.http import RequestData
from mitmproxy.net.http import url

from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, PayloadTooLargeError, ProtocolRefusedError
from headgate.organizations.addresses import embedded_ipv4
from headgate.protocols.headers import SINGLE_HEADERS
from headgate.protocols.overrides import FORWARDED, METHOD_HEADERS, TARGET_HEADERS, header_variable, names_host

_METHOD: Final = re.compile(rb"[A-Z][A-Z0-9_-]{0,31}")
_TARGET: Final = re.compile(rb"/[!\"$-\[\]-~]*")  # printable ASCII without space, '#' and backslash
_DOT_SEGMENT: Final = re.compile(rb"/(?:\.|%2e){1,2}(?=[/;?]|$)", re.IGNORECASE)
_ENCODED_SEPARATOR: Final = re.compile(rb"%(?:5c|00)", re.IGNORECASE)
_BAD_PERCENT: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_BAD_VALUE: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # CR, LF, NUL, obs-fold and the rest; tab is legal
_LABELS: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")

_CONNECTION_OPTIONS: Final = frozenset({b"close", b"keep-alive", b"te", b"upgrade", b"http2-settings", b""})
_LOOKED_AT: Final = (
    SINGLE_HEADERS | METHOD_HEADERS | TARGET_HEADERS | {FORWARDED, b"connection", b"trailer", b"proxy-connection"}
)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_HOST_CHARACTERS_MAX: Final = 253  # RFC 1035, section 2.3.4, without the dot of the root


def ambiguous(message: str, **details: object) -> AmbiguousRequestError:
    return AmbiguousRequestError(message, details=details or None)


def check_method(method: bytes) -> None:
    if _METHOD.fullmatch(method) is None:
        raise ambiguous("the method must be in upper-case letters")
    if method in (b"TRACE", b"TRACK"):
        # It answers with the request, injected credentials included (cross-site tracing).
        raise ProtocolRefusedError("TRACE is refused: it would show the request's credentials")


def check_version(version: bytes, *, is_http2: bool) -> None:
    expected = (b"HTTP/2.0",) if is_http2 else (b"HTTP/1.1", b"HTTP/1.0")
    if version not in expected:
        raise ambiguous("the HTTP version is not the connection's")


def check_target(target: bytes, *, max_bytes: int) -> None:
    """Path and query as they are sent. Raises AmbiguousRequestError, PayloadTooLargeError.

    Encoded slashes are checked later, with the host's catalogue (``normalise_path``).
    """
    if len(target) > max_bytes:
        raise PayloadTooLargeError(f"the URL is longer than {max_bytes} bytes", details={"max_bytes": max_bytes})
    if _TARGET.fullmatch(target) is None:
        raise ambiguous(
            "the request target must be a path that starts with / and holds printable ASCII without spaces,"
            " backslashes and fragments"
        )
    path = target.partition(b"?")[0]
    if _DOT_SEGMENT.search(path) is not None:
        raise ambiguous("dot segments in the path: send the path that is meant")  # policy bypass by /public/../admin
    if b"%" in path:
        if _ENCODED_SEPARATOR.search(path) is not None:
            raise ambiguous("an encoded backslash or NUL in the path: servers disagree about its meaning")
        if _BAD_PERCENT.search(path) is not None:
            raise ambiguous("a percent sign in the path that encodes nothing")


def canonical_host(host: str) -> str:
    """The one spelling of a host: lower case, ASCII, no trailing dot; addresses in their standard form.

    Raises AmbiguousRequestError for numbers that only some resolvers take for an address (127.1, 0x7f.0.0.1).
    """
    if len(host) > _HOST_CHARACTERS_MAX:
        raise ambiguous("the host is longer than any name")
    return _canonical_host(host)


@lru_cache(maxsize=4096)
def _canonical_host(host: str) -> str:
    """Bounded in number and size, as agents choose the names."""
    lowered = host.lower()
    if ":" in lowered:
        try:
            address = ip_address(lowered)
        except ValueError:
            raise ambiguous("the host is not an address") from None
        if isinstance(address, IPv6Address) and embedded_ipv4(address) is not None:
            raise ambiguous("write the IPv4 address that this IPv6 address stands for")
        return str(address)
    if not lowered.isascii():
        try:
            encoded = lowered.encode("idna")
            if encoded.decode("idna") != lowered:
                # IDNA 2003 and 2008 disagree here (straße.de): two resolvers would look up two names.
                raise ambiguous("the host has two readings in ASCII (IDNA)")
            lowered = encoded.decode("ascii")
        except UnicodeError:
            raise ambiguous("the host cannot be written in ASCII (IDNA)") from None
    if len(lowered) > _HOST_CHARACTERS_MAX or _LABELS.fullmatch(lowered) is None:
        raise ambiguous("the host is not a name or an address, or ends in a dot")
    if _NUMBER.fullmatch(lowered.rpartition(".")[2]) is not None:
        # The URL standard's "ends in a number": then it is an IPv4 address, and only this spelling counts.
        try:
            ip_address(lowered)
        except ValueError:
            raise ambiguous("write the address with four decimal numbers") from None
    return lowered


def check_authority(written: bytes, *, host: str, port: int, scheme: str, what: str) -> None:
    """That ``written`` (Host, :authority, SNI with a port) names ``host`` (canonical) and ``port``."""
    short = host.encode()
    if (written == short and port == _DEFAULT_PORTS.get(scheme)) or written == b"%b:%d" % (short, port):
        return
    try:
        named, named_port = url.parse_authority(written, check=True)
        if canonical_host(named) == host and (named_port or _DEFAULT_PORTS.get(scheme)) == port:
            return
    except (ValueError, HeadgateError):
        pass
    # Routing by one name and deciding by another is how a request reaches a host that no policy saw.
    raise ambiguous(f"{what} does not name the host and port that the request is sent to")


def check_fields(fields: Iterable[tuple[bytes, bytes]], *, max_count: int, max_bytes: int) -> dict[bytes, bytes]:
    """The header fields that matter to the gate, by lower-case name.

    Raises AmbiguousRequestError, PayloadTooLargeError, ProtocolRefusedError.
    """
    seen: dict[bytes, bytes] = {}
    count = size = 0
    for name, value in fields:
        count += 1
        size += len(name) + len(value) + 4
        if _BAD_VALUE.search(value) is not None:
            raise ambiguous("a control character or a folded line in a header value")  # response and request splitting
        lowered = name.lower()
        variable = header_variable(lowered)
        if variable in _LOOKED_AT:
            if variable != lowered:
                # CGI and WSGI make one variable of X-A and X_A: the one that is read here need not be the one there.
                raise ambiguous(f"write the header {variable.decode('ascii')} with hyphens")
            if lowered in SINGLE_HEADERS and lowered in seen:
                raise ambiguous(f"the header {lowered.decode('ascii')} is there more than once")
            if lowered in METHOD_HEADERS:
                raise ambiguous("a header overrides the method: send the method that is meant")
            if lowered in TARGET_HEADERS or (lowered == FORWARDED and names_host(value)):
                raise ambiguous("a header overrides the URL or the host: send the URL that is meant")
            seen[lowered] = value if lowered not in seen else seen[lowered] + b"," + value
    if count > max_count or size > max_bytes:
        raise PayloadTooLargeError(
            f"more than {max_count} header fields or {max_bytes} bytes of them",
            details={"max_count": max_count, "max_bytes": max_bytes},
        )
    return seen


def check_meaning(seen: dict[bytes, bytes], data: RequestData) -> None:
    """Headers that change the protocol or the framing. Raises AmbiguousRequestError, ProtocolRefusedError."""
    if (connection := seen.get(b"connection")) is not None:
        options = {option.strip() for option in connection.lower().split(b",")}
        if not options <= _CONNECTION_OPTIONS:
            # A header that is named here is removed by the next proxy: the request decided is not the one that arrives.
            raise ambiguous("the Connection header names other headers to remove")
    if seen.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
        raise ambiguous("a transfer coding other than chunked")
    if seen.get(b"expect", b"100-continue").lower() != b"100-continue":
        raise ambiguous("an expectation other than 100-continue")
    if b"trailer" in seen:
        raise ProtocolRefusedError("trailers are refused: they come after the decision")
    upgrade = seen.get(b"upgrade", b"").lower()
    if upgrade == b"h2c":
        # RFC 9113 deprecates it and a server may ignore it, so the request goes on without (Java's client sends it).
        for header in ("upgrade", "http2-settings", "connection"):
            data.headers.pop(header, None)
    elif upgrade == b"websocket" and _is_handshake(data):
        return
    elif upgrade:
        name = upgrade.decode("ascii", "replace")[:40]
        raise ProtocolRefusedError(
            f"an upgrade to {name} is refused: the gate cannot inspect what would follow", details={"upgrade": name}
        )


def _is_handshake(data: RequestData) -> bool:
    """RFC 6455, 4.1: a GET of HTTP/1.1, without a body, in the one version of the protocol."""
    headers = data.headers
    return (
        data.method == b"GET"
        and data.http_version == b"HTTP/1.1"
        and headers.get("sec-websocket-version") == "13"
        and "sec-websocket-key" in headers
        and "content-length" not in headers
        and "transfer-encoding" not in headers
    )
