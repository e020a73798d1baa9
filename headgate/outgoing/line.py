"""Connections that may carry another request, and how long they are kept."""

import asyncio
import ssl
from typing import Final, NamedTuple

import httpcore
from msgspec import Struct, field

from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.guarded_network import GuardedNetwork
from headgate.outgoing.resolver import Resolver
from headgate.outgoing.target import Target
from headgate.outgoing.tunnel import Tunnels

IDLE_SECONDS: Final = 15.0
IDLE_MAX: Final = 64


class Destination(NamedTuple):
    """What shares idle connections: one origin, as one owner uses it."""

    owner: str
    scheme: str
    host: str
    port: int


class Line(Struct, frozen=True):
    """One HTTP/1.1 connection. ``close`` ends it at once, whatever state it is in."""

    connection: httpcore.AsyncHTTPConnection
    network: GuardedNetwork

    def close(self) -> None:
        self.network.close()

    @property
    def is_reusable(self) -> bool:
        return self.connection.is_idle() and not self.connection.has_expired()


def new_line(
    target: Target, trust: ssl.SSLContext, rules: DestinationRules, resolve: Resolver, tunnels: Tunnels | None = None
) -> Line:
    """Nothing is connected yet."""
    network = GuardedNetwork(rules, resolve, tunnels)
    origin = httpcore.Origin(target.scheme.encode(), target.host.encode(), target.port)
    return Line(httpcore.AsyncHTTPConnection(origin, trust, http2=False, network_backend=network), network)


class _Kept(NamedTuple):
    destination: Destination
    expiry: asyncio.TimerHandle


class IdleLines(Struct):
    """At most ``IDLE_MAX`` of a process, each for ``IDLE_SECONDS``; the oldest makes room."""

    _idle: dict[Line, _Kept] = field(default_factory=dict)

    def take(self, destination: Destination, rules: DestinationRules) -> Line | None:
        """The one used last; only while ``rules`` still permit the address that it leads to."""
        for line in reversed(self._of(destination)):
            self._idle.pop(line).expiry.cancel()
            address = line.network.address
            if line.is_reusable and address is not None and rules.permits(destination.host, address, destination.port):
                return line
            line.close()
        return None

    def keep(self, destination: Destination, line: Line) -> None:
        expiry = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._close, line)
        self._idle[line] = _Kept(destination, expiry)
        if len(self._idle) > IDLE_MAX:
            self._close(next(iter(self._idle)))

    def forget(self, destination: Destination) -> None:
        """One of them failed: the others were made before the same failure, and are not tried one by one."""
        for line in self._of(destination):
            self._close(line)

    def close(self) -> None:
        for line in list(self._idle):
            self._close(line)

    def _of(self, destination: Destination) -> list[Line]:
        return [line for line, kept in self._idle.items() if kept.destination == destination]

    def _close(self, line: Line) -> None:
        self._idle.pop(line).expiry.cancel()
        line.close()
