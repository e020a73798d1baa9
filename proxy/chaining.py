"""Sends forwarded calls through the operator's own proxy: asyncio connects to a destination, and gets a tunnel to it.

With an upstream proxy it replaces ``loop.create_connection``, as ``proxy.resolver`` replaces ``loop.getaddrinfo`` with
the guard. So TLS, HTTP/2, client certificates and WebSockets work as without a proxy. The guard decides before: about
a literal in ``server_connect``, about a name when it is resolved. The proxy is asked for an address that the guard
permits.
"""

import asyncio
import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import structlog

from addons.guard import BlockedAddressError, Dial, current_dial, outside_of_dial, parse_literal
from headgate.organizations.addresses import Address
from headgate.outgoing.tunnel import TunnelError, Tunnels
from headgate.outgoing.upstream_proxy import LOOK_UP_SECONDS, may_be_public

_log = structlog.get_logger(__name__)

type _Connected = tuple[asyncio.Transport, asyncio.BaseProtocol]


class ChainedConnections:
    """Changes connections of a dial only, not those to the database and to Valkey."""

    def __init__(self, connect: Callable[..., Any], tunnels: Tunnels, loop: asyncio.AbstractEventLoop) -> None:
        self._connect = connect
        self._tunnels = tunnels
        self._loop = loop

    # The signature is asyncio's own; its types cannot be narrowed.
    async def __call__(
        self, protocol_factory: Callable[[], Any], host: Any = None, port: Any = None, **options: Any
    ) -> _Connected:
        dial = current_dial()
        connected: _Connected
        if dial is None or self._is_direct(dial):
            connected = await self._connect(protocol_factory, host, port, **options)
            return connected
        addresses = await self._judged(dial)
        near = next((one for one in addresses if self._tunnels.proxy.is_direct(one)), None)
        if near is not None:
            connected = await self._connect(protocol_factory, str(near), port, **options)
            return connected
        targets = self._tunnels.proxy.targets(dial.host, addresses)
        try:
            with outside_of_dial():
                stream = await self._tunnels.open(targets, dial.port)
        except TunnelError as error:
            _log.warning("upstream_proxy_failed", host=dial.host, port=dial.port, error=str(error))
            raise
        dial.tunnelled_to = targets
        protocol = protocol_factory()
        return stream.hand_over(protocol), protocol

    def _is_direct(self, dial: Dial) -> bool:
        if (dial.host, dial.port) == dial.own.api_origin:
            return True
        literal, proxy = parse_literal(dial.host), self._tunnels.proxy
        return proxy.is_direct_name(dial.host) if literal is None else proxy.is_direct(literal)

    async def _judged(self, dial: Dial) -> list[Address]:
        """The permitted addresses of a destination; none where only the proxy can resolve its name."""
        literal = parse_literal(dial.host)
        if literal is not None:
            return [literal]  # judged in server_connect
        try:
            dial.look_up_seconds = LOOK_UP_SECONDS if self._tunnels.proxy.resolves_names else None
            found = await self._loop.getaddrinfo(dial.host, dial.port, type=socket.SOCK_STREAM)
        except BlockedAddressError:
            raise
        except OSError:  # TimeoutError is one
            if not self._tunnels.proxy.resolves_names:
                raise
            if not may_be_public(dial.host):
                dial.block_name()
                raise BlockedAddressError("destination blocked by the gate") from None
            return []
        return list(dict.fromkeys(ip_address(str(info[4][0]).partition("%")[0]) for info in found))


def chain(loop: asyncio.AbstractEventLoop, tunnels: Tunnels) -> None:
    """Makes ``loop`` connect to destinations through ``tunnels``. Call it after ``proxy.resolver.install``."""
    loop.create_connection = ChainedConnections(loop.create_connection, tunnels, loop)  # type: ignore[method-assign,assignment] # the seam itself
