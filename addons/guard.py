"""The SSRF guard: an agent reaches public addresses, and of the others those that its organization names.

Two places, one rule. ``server_connect`` judges addresses written as such; names are judged where they are
resolved (``proxy.resolver`` asks ``Dial.select`` for each address), so that what is connected to is what was
judged: there is no second resolution in between for a rebinding name server to use.

The dial in progress travels in a context variable: it is set in the task that is about to connect, inherited
by nothing that runs beside it, and taken back when the connection is made or has failed.
"""

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv6Address, ip_address

import structlog
from mitmproxy.connection import Server
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from msgspec import Struct

from addons.metrics import DESTINATIONS_BLOCKED
from addons.verdict import ClientState, client_state, flow_state
from headgate.kernel.errors import DestinationBlockedError
from headgate.organizations.addresses import METADATA_MEANING, Address, AddressKind, kind_of
from headgate.organizations.destinations import DestinationRules

_log = structlog.get_logger(__name__)

_dial: ContextVar["Dial | None"] = ContextVar("headgate_dial", default=None)


class BlockedAddressError(OSError):
    """No address of a name may be connected to. An OSError, because that is what connecting raises."""


class OwnPlaces(Struct, frozen=True):
    """Where this process listens, and the one private origin that every agent needs.

    ``api_origin``: host and port of Headgate's own API, let through exactly as written. ``listening``: asked
    each time, because a port is known only once it is bound.
    """

    listening: Callable[[], frozenset[int]]
    api_origin: tuple[str, int] | None = None

    def is_own(self, address: Address, port: int) -> bool:
        """Whether a connection would come back to this proxy, and loop."""
        return port in self.listening() and (kind_of(address) is AddressKind.LOOPBACK or _is_local(address))


class Dial(Struct, eq=False):
    """One attempt to connect, from the hook before it to the hook after it."""

    server: Server
    client: ClientState
    host: str
    port: int
    own: OwnPlaces
    permitted: bool = False
    look_up_seconds: float | None = None
    """Where a name without an address goes on to an upstream proxy: how long its look-up may take."""
    tunnelled_to: tuple[Address | str, ...] = ()
    """The targets that an upstream proxy was asked for; the peer is then the proxy. Empty: a direct connection."""

    @property
    def org_id(self) -> str | None:
        """Whose call it is; None: nobody's, as long as no key was shown."""
        caller = self.client.caller
        return None if caller is None else caller.identity.org_id

    def permits(self, address: Address) -> bool:
        if self.own.is_own(address, self.port):
            return False
        if (self.host, self.port) == self.own.api_origin:
            return True
        return self.client.rules.permits(self.host, address, self.port)

    def select(self, addresses: Iterable[Address]) -> frozenset[Address]:
        """Those that may be connected to. Raises BlockedAddressError where there is none."""
        found = frozenset(addresses)
        selected = frozenset(address for address in found if self.permits(address))
        if not selected:
            self.block(found)
            raise BlockedAddressError("destination blocked by the gate")
        return selected

    def block_name(self) -> None:
        """Remember the refusal of a name that has no address here and that the upstream proxy may not resolve."""
        self.client.blocked[(self.host, self.port)] = DestinationBlockedError(
            f"{self.host} has no address here, and the upstream proxy resolves public names only",
            details={"host": self.host, "port": self.port, "kinds": []},
        )
        DESTINATIONS_BLOCKED.labels(kind="none").inc()
        _log.warning("destination_blocked", host=self.host, port=self.port, kinds=[])

    def block(self, addresses: frozenset[Address]) -> None:
        """Remember the refusal, for the answer to the request that wanted to connect."""
        # For a name the addresses are not told: what an internal name resolves to is not for agents to learn.
        kinds = sorted({kind_of(address).value for address in addresses})
        own = bool(addresses) and all(self.own.is_own(address, self.port) for address in addresses)
        self.client.blocked[(self.host, self.port)] = (
            DestinationBlockedError(f"{self.host} port {self.port} is this proxy itself: the request would loop")
            if own
            else blocked_error(self.host, self.port, kinds)
        )
        DESTINATIONS_BLOCKED.labels(kind=kinds[0] if kinds else "none").inc()
        _log.warning("destination_blocked", host=self.host, port=self.port, kinds=kinds)


def current_dial() -> Dial | None:
    """The attempt to connect that this task is in the middle of."""
    return _dial.get()


def permitted_dial() -> Server | None:
    """The server that the guard has let this task connect to."""
    dial = _dial.get()
    return dial.server if dial is not None and dial.permitted else None


@contextmanager
def outside_of_dial() -> Iterator[None]:
    """Suspends the dial of this task, for a connection to the operator's proxy: the guard does not check that one."""
    before = _dial.set(None)
    try:
        yield
    finally:
        _dial.reset(before)


def blocked_error(host: str, port: int, kinds: list[str]) -> DestinationBlockedError:
    what = ", ".join(kinds).replace("_", "-") or "no usable"
    details: dict[str, object] = {"host": host, "port": port, "kinds": kinds}
    if AddressKind.METADATA.value in kinds:
        # No entry is offered: who copies what an answer suggests would give the machine's credentials away.
        return DestinationBlockedError(
            f"{host} port {port} is a {what} address: {METADATA_MEANING}. Agents reach it only where the organization's"
            " allowlist names the address itself",
            details=details,
        )
    entry = {"host": host, "ports": [port], "private": True}
    return DestinationBlockedError(
        f"{host} port {port} is a {what} address, which agents reach only where the organization's allowlist"
        " names it: an administrator can add the entry in details.allowlist_entry",
        details={**details, "allowlist_entry": entry},
    )


def parse_literal(host: str) -> Address | None:
    """The address that ``host`` writes out, or None for a name. A scope (``fe80::1%eth0``) is dropped."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None


class Guard:
    """Judges every connection that the proxy is about to open."""

    def __init__(self, own: OwnPlaces) -> None:
        self._own = own

    def server_connect(self, data: ServerConnectionHookData) -> None:
        client = client_state(data.client)
        if data.server.address is None or data.server.transport_protocol != "tcp" or data.server.via is not None:
            data.server.error = "the gate opens direct TCP connections only"
            return
        host, port = data.server.address[0], data.server.address[1]
        if (host, port) not in client.authorized:
            data.server.error = "no request to this destination was allowed"
            return
        dial = Dial(data.server, client, host, port, self._own)
        client.blocked.pop((host, port), None)
        literal = parse_literal(host)
        if literal is not None and not dial.permits(literal):
            dial.block(frozenset((literal,)))
            data.server.error = "destination blocked by the gate"
            return
        dial.permitted = True
        _dial.set(dial)

    def server_connected(self, data: ServerConnectionHookData) -> None:
        dial, peer = _dial.get(), data.server.peername
        _dial.set(None)
        if dial is None or peer is None:
            raise RuntimeError("connected without a dial")
        for address in dial.tunnelled_to or (ip_address(peer[0].partition("%")[0]),):
            if not isinstance(address, str) and kind_of(address) is not AddressKind.PUBLIC:
                dial.client.reached.setdefault((dial.host, dial.port), set()).add(address)
                dial.client.rechecked.pop((dial.host, dial.port), None)

    def server_connect_error(self, data: ServerConnectionHookData) -> None:
        _dial.set(None)

    def recheck(self, flow: HTTPFlow, rules: DestinationRules) -> None:
        """Whether the rules of now still permit what an open connection of this client has reached.

        To be called for each request before it is allowed: a connection outlives the allowlist that opened it.
        Raises DestinationBlockedError.
        """
        host, port = flow.request.data.host, flow.request.data.port
        client = flow_state(flow).client
        reached = client.reached.get((host, port))
        if not reached or client.rechecked.get((host, port)) is rules or (host, port) == self._own.api_origin:
            return
        lost = [address for address in reached if not rules.permits(host, address, port)]
        if lost:
            raise blocked_error(host, port, sorted({kind_of(address).value for address in lost}))
        client.rechecked[(host, port)] = rules


def _is_local(address: IPv4Address | IPv6Address) -> bool:
    """Whether this machine has the address: only then can a socket be bound to it."""
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True
