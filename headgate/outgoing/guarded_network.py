"""Connecting under the SSRF rules: resolve once, judge every address, connect to one that was judged.

httpcore asks its network backend for a connection to (host, port); this one gives it a connection to an address
that it has checked itself, so that a rebinding name server has no second answer to give. The host stays what the
URL says: httpcore puts it into TLS (server name and verification).
"""

import asyncio
import ssl
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any, Final

import httpcore

from headgate.organizations.addresses import METADATA_MEANING, Address, AddressKind, kind_of
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.model import OutgoingError, OutgoingFailure
from headgate.outgoing.resolver import Resolver
from headgate.outgoing.tcp_stream import TcpStream, connect_tcp
from headgate.outgoing.tunnel import TunnelError, Tunnels
from headgate.outgoing.upstream_proxy import LOOK_UP_SECONDS, may_be_public

_MOST_ATTEMPTS: Final = 4
_SOME_PUBLIC_ADDRESS: Final = ip_address("8.8.8.8")
"""Stands for the unknown address of a name that only the upstream proxy resolves. Rules that permit no public address
refuse the name."""


class WatchedStream(httpcore.AsyncNetworkStream):
    """Remembers whether a byte of the request has gone out. The TLS handshake does not pass through ``write``."""

    def __init__(self, inner: TcpStream, network: "GuardedNetwork") -> None:
        self._inner = inner
        self._network = network

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._network.has_written = True
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        try:
            await self._inner.start_tls(ssl_context, server_hostname, timeout)
        except httpcore.ConnectError as error:
            raise OutgoingError(OutgoingFailure.TLS, f"the TLS handshake failed: {_reason(error)}") from error
        return self

    def get_extra_info(self, info: str) -> Any:  # the shape is httpcore's
        return self._inner.get_extra_info(info)


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """The network of one connection; ``has_written`` says whether any of the request may have arrived, ``address``
    where it leads."""

    def __init__(self, rules: DestinationRules, resolve: Resolver, tunnels: Tunnels | None = None) -> None:
        self._rules = rules
        self._resolve = resolve
        self._tunnels = tunnels
        self._stream: TcpStream | None = None
        self.address: Address | None = None
        self.has_written = False

    def close(self) -> None:
        """Closes the connection, if there is one, at once and without waiting."""
        if self._stream is not None:
            self._stream.abort()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                if self._tunnels is not None:
                    return await self._connect_chained(host, port, self._tunnels)
                return await self._connect(await self.permitted(host, port), port)
        except TimeoutError as error:
            raise OutgoingError(
                OutgoingFailure.CONNECT_TIMEOUT, f"{host} port {port} took no connection within {timeout:g} s"
            ) from error

    async def permitted(self, host: str, port: int) -> list[Address]:
        """The addresses of this host that may be connected to, for who connects by itself. Raises OutgoingError."""
        return self._permitted(host, port, await self._addresses(host, port))

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise OutgoingError(OutgoingFailure.BLOCKED, "no call leaves through a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> Iterable[Address]:
        try:
            return (ip_address(host),)
        except ValueError:
            pass
        try:
            return await self._resolve(host, port)
        except OSError as error:
            raise OutgoingError(OutgoingFailure.UNRESOLVED, f"{host} has no address") from error

    def _permitted(self, host: str, port: int, found: Iterable[Address]) -> list[Address]:
        addresses = list(found)
        permitted = [address for address in addresses if self._rules.permits(host, address, port)]
        if not permitted:
            found_kinds = {kind_of(address) for address in addresses}
            kinds = ", ".join(sorted(kind.value for kind in found_kinds)).replace("_", "-")
            meaning = f" ({METADATA_MEANING})" if AddressKind.METADATA in found_kinds else ""
            raise OutgoingError(
                OutgoingFailure.BLOCKED,
                f"{host} port {port} is a {kinds or 'no usable'} address{meaning}, which is called only where the"
                " organization's allowlist names it with private: true",
            )
        return permitted

    async def _connect_chained(self, host: str, port: int, tunnels: Tunnels) -> WatchedStream:
        """Through the operator's proxy, unless this destination is reached without it."""
        proxy = tunnels.proxy
        if proxy.is_direct_name(host):
            return await self._connect(await self.permitted(host, port), port)
        try:
            addresses = await self._looked_up(host, port, LOOK_UP_SECONDS if proxy.resolves_names else None)
        except OutgoingError as error:
            if error.failure is not OutgoingFailure.UNRESOLVED or not proxy.resolves_names:
                raise
            if not may_be_public(host) or not self._rules.permits(host, _SOME_PUBLIC_ADDRESS, port):
                raise OutgoingError(
                    OutgoingFailure.BLOCKED, f"{host} has no address here that can be checked"
                ) from error
            addresses = []
        if near := [one for one in addresses if proxy.is_direct(one)]:
            return await self._connect(near, port)
        try:
            self._stream = await tunnels.open(proxy.targets(host, addresses), port)
        except TunnelError as error:
            raise OutgoingError(OutgoingFailure.UNREACHABLE, str(error)) from error
        self.address = addresses[0] if addresses else None
        return WatchedStream(self._stream, self)

    async def _looked_up(self, host: str, port: int, seconds: float | None) -> list[Address]:
        try:
            async with asyncio.timeout(seconds) as bound:
                return await self.permitted(host, port)
        except TimeoutError as error:
            if not bound.expired():
                raise
            raise OutgoingError(OutgoingFailure.UNRESOLVED, f"{host} has no address") from error

    async def _connect(self, addresses: list[Address], port: int) -> WatchedStream:
        refused: httpcore.ConnectError | None = None
        for address in addresses[:_MOST_ATTEMPTS]:
            try:
                self._stream = await connect_tcp(str(address), port)
            except httpcore.ConnectError as error:
                refused = error
            else:
                self.address = address
                return WatchedStream(self._stream, self)
        raise OutgoingError(OutgoingFailure.UNREACHABLE, f"nothing answers on port {port}") from refused


def _reason(error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return cause.reason.lower().replace("_", " ")
        cause = cause.__cause__ or cause.__context__
    return "the other side broke it off"
