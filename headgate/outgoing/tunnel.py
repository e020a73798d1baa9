"""A connection to a destination through the operator's proxy (CONNECT; RFC 9110, section 9.3.6).

Everything goes through a tunnel, plain HTTP as well: the proxy sees host and port, and neither requests nor the
headers that Headgate adds to them.
"""

import asyncio
import ssl
from collections.abc import Sequence
from typing import Final

import httpcore

from headgate.organizations.addresses import Address
from headgate.outgoing.resolver import Resolver
from headgate.outgoing.tcp_stream import TcpStream, connect_tcp
from headgate.outgoing.upstream_proxy import UpstreamProxy

ASK_SECONDS: Final = 30.0
"""For opening a tunnel: connecting to the proxy and its answer, for which the proxy connects to the destination."""

_HEAD_MAX_BYTES: Final = 16 << 10
_MOST_ADDRESSES: Final = 3
_OTHER_ADDRESS: Final = frozenset({502, 503, 504})
_MEANINGS: Final = {
    403: "refuses this destination (403)",
    407: "does not accept the user and password of HEADGATE_UPSTREAM_PROXY_URL (407)",
    502: "could not reach the destination (502)",
    503: "could not reach the destination (503)",
    504: "had no answer from the destination in time (504)",
}


class TunnelError(OSError):
    """No tunnel. An OSError, as asyncio raises when it cannot connect. ``status``: the status of the proxy's answer.
    The message names neither the proxy's address nor its credentials, because agents read it."""

    def __init__(self, what: str, status: int | None = None) -> None:
        super().__init__(f"the upstream proxy {what}")
        self.status = status


class Tunnels:
    """Opens tunnels. ``trust``: the roots for TLS to the proxy itself. ``resolve`` resolves the proxy's own name."""

    def __init__(self, proxy: UpstreamProxy, trust: ssl.SSLContext, resolve: Resolver) -> None:
        self.proxy = proxy
        self._trust = trust
        self._resolve = resolve

    async def open(self, targets: Sequence[Address | str], port: int) -> TcpStream:
        """Opens a tunnel to the first target that the proxy reaches. Raises TunnelError."""
        failure = TunnelError("was given no address to reach")
        try:
            async with asyncio.timeout(ASK_SECONDS):
                for target in targets[:_MOST_ADDRESSES]:
                    try:
                        return await self._open(_authority(target, port))
                    except TunnelError as error:
                        failure = error
                        if error.status not in _OTHER_ADDRESS:
                            break
        except TimeoutError as error:
            raise TunnelError(f"did not answer within {ASK_SECONDS:g} s") from error
        raise failure

    async def _open(self, authority: str) -> TcpStream:
        stream = await self._connect()
        try:
            if self.proxy.tls:
                await _start_tls(stream, self._trust, self.proxy.host)
            status = await _ask(stream, authority, self.proxy)
            if not 200 <= status < 300:
                raise TunnelError(_MEANINGS.get(status, f"answered {status}"), status)
        except BaseException:
            stream.abort()
            raise
        return stream

    async def _connect(self) -> TcpStream:
        try:
            addresses = await self._resolve(self.proxy.host, self.proxy.port)
        except OSError as error:
            raise TunnelError("has no address: check HEADGATE_UPSTREAM_PROXY_URL") from error
        for address in addresses[:_MOST_ADDRESSES]:
            try:
                return await connect_tcp(str(address), self.proxy.port)
            except httpcore.ConnectError:
                continue
        raise TunnelError("takes no connection: check HEADGATE_UPSTREAM_PROXY_URL, and whether the proxy runs")


async def _start_tls(stream: TcpStream, trust: ssl.SSLContext, host: str) -> None:
    try:
        await stream.start_tls(trust, host)
    except httpcore.ConnectError as error:
        if isinstance(error.__cause__, ssl.SSLCertVerificationError):
            what = "shows a certificate that is not trusted (HEADGATE_UPSTREAM_CA_FILE adds roots)"
        else:
            what = "does not speak TLS: check whether HEADGATE_UPSTREAM_PROXY_URL begins with https://"
        raise TunnelError(what) from error


async def _ask(stream: TcpStream, authority: str, proxy: UpstreamProxy) -> int:
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: {proxy.authorization.reveal()}")
    head = b""
    try:
        await stream.write("\r\n".join([*lines, "", ""]).encode("ascii"))
        while b"\r\n\r\n" not in head and len(head) <= _HEAD_MAX_BYTES:
            piece = await stream.read(_HEAD_MAX_BYTES)
            if not piece:
                raise TunnelError("closed the connection instead of answering")
            head += piece
    except (httpcore.ReadError, httpcore.WriteError) as error:
        raise TunnelError("broke the connection instead of answering") from error
    status, ended = _status(head), head.find(b"\r\n\r\n") + 4
    # The client speaks first in a tunnel. Headgate would take bytes after the head for the destination's.
    if 200 <= status < 300 and (len(head) > ended or stream.get_extra_info("is_readable")):
        raise TunnelError("sent more than an answer to CONNECT, or closed the tunnel at once")
    return status


def _status(head: bytes) -> int:
    """The status of an answer to CONNECT, whose head may be incomplete. Raises TunnelError."""
    line, found, _ = head.partition(b"\r\n")
    version, _, rest = line.partition(b" ")
    digits = rest[:3]
    if not found or b"\r\n\r\n" not in head or version not in (b"HTTP/1.0", b"HTTP/1.1") or not digits.isdigit():
        raise TunnelError("answered with something that is not HTTP")
    return int(digits)


def _authority(target: Address | str, port: int) -> str:
    shown = str(target)
    return f"[{shown}]:{port}" if ":" in shown else f"{shown}:{port}"
