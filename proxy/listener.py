"""Where clients come in: one socket, shared with the other workers of the machine, and one task per client."""

import asyncio
import socket
import time
from functools import partial
from typing import Any, Final

import structlog
from mitmproxy.connection import Client
from mitmproxy.optmanager import OptManager
from mitmproxy.proxy.mode_specs import ProxyMode

from addons.metrics import CLIENT_CONNECTIONS
from addons.share import SLICE_SECONDS, Share
from addons.verdict import Completion, Ending, client_state
from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet
from proxy.budget import BufferBudget
from proxy.connection import READ_BEHIND_OTHERS_BYTES, GateConnection
from proxy.connection_shares import ConnectionShares
from proxy.dispatch import GateAddonManager
from proxy.options import OptionsSnapshot
from proxy.turns import Turns

_log = structlog.get_logger(__name__)


_LONGEST_LOOK_SECONDS: Final = 2.5
_LAST_ANSWERS_SECONDS: Final = 0.1

_BACKLOG: Final = 4096
_ACCEPTED_AT_ONCE: Final = 128
_WAIT_UNSERVED_SECONDS: Final = 1.0

_READ_AHEAD_BYTES: Final = 4 << 10
"""asyncio stops reading from a client once twice of this waits to be taken."""


class Listener:
    """Listens with SO_REUSEPORT: the kernel spreads new connections over the workers that share the port.

    Whoever takes longer than ``head_seconds`` for the head of a request, or for the handshake before it, is cut off: a
    byte now and then would keep a connection for ever (slow loris). Who may have how many of ``max_connections``, and
    who gives way to a newcomer, is ``proxy.connection_shares``'s.

    An addon, so that it opens when all others run and closes with them. Each client gets a task of its own,
    and with it a context of its own, in which ``addons.guard`` keeps the connection that is being opened.
    """

    def __init__(
        self,
        host: str,
        port: int,
        budget: BufferBudget,
        *,
        max_connections: int,
        head_seconds: float,
        drain_seconds: float = 10.0,
    ) -> None:
        self._head_seconds = head_seconds
        self._host = host
        self._port = port
        self._budget = budget
        self._drain_seconds = drain_seconds
        self._sockets: list[socket.socket] = []
        self._unserved: set[socket.socket] = set()
        self._not_accepted = 0
        self._tasks = TaskSet(lambda name, error: _log.error("connection_failed", task=name, error=repr(error)))
        self._connections: dict[Client, tuple[GateConnection, asyncio.Task[Any] | None]] = {}
        self._shares: ConnectionShares[GateConnection] = ConnectionShares(max_connections)
        self._turns = Turns()
        self._addons: GateAddonManager | None = None
        self._options: OptionsSnapshot | None = None
        self._mode = ProxyMode.parse("regular")

    @property
    def ports(self) -> frozenset[int]:
        """The ports that this process listens on."""
        return frozenset(address[1] for address in self.addresses)

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        return tuple((name[0], name[1]) for name in (bound.getsockname() for bound in self._sockets))

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    async def open(self, addons: GateAddonManager, options: OptManager) -> None:
        """Raises UnavailableError where the address cannot be listened on."""
        self._addons = addons
        self._options = OptionsSnapshot(options)
        loop = asyncio.get_running_loop()
        for family, address in await self._addresses_to_bind():
            bound = _bind(family, address)
            bound.listen(_BACKLOG)
            bound.setblocking(False)
            self._sockets.append(bound)
            loop.add_reader(bound.fileno(), self._accept_some, bound)
        self._tasks.start(self._keep_closing_overdue(), name="heads")
        _log.info("proxy_listening", addresses=self.addresses)

    async def close(self) -> None:
        """Accept nobody new, give requests in flight ``drain_seconds``, then cut what is left."""
        if not self._sockets:
            return
        for bound in self._sockets:
            asyncio.get_running_loop().remove_reader(bound.fileno())
            bound.close()
        self._sockets.clear()
        for unserved in self._unserved:
            unserved.close()
        deadline = asyncio.get_running_loop().time() + self._drain_seconds
        # A stop happens once; an event would have to be set at the end of each request.
        while self._in_flight() and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        # A refusal ends a request a moment before its answer is written.
        await asyncio.sleep(_LAST_ANSWERS_SECONDS)
        tasks = []
        for connection, task in list(self._connections.values()):
            connection.hard_close("the gate stops")
            if task is not None:
                tasks.append(task)
        if tasks:
            await asyncio.wait(tasks, timeout=5)
        await self._tasks.close()

    def _in_flight(self) -> bool:
        return any(connection.state.unfinished for connection, _ in self._connections.values())

    async def _addresses_to_bind(self) -> list[tuple[socket.AddressFamily, tuple[Any, ...]]]:
        """Raises UnavailableError where the host has no address."""
        try:
            found = await asyncio.get_running_loop().getaddrinfo(
                self._host or None, self._port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
        except OSError as error:
            raise UnavailableError(f"cannot listen on {self._host}: {error.strerror}") from error
        return list(dict.fromkeys((socket.AddressFamily(one[0]), tuple(one[4])) for one in found))

    def _accept_some(self, bound: socket.socket) -> None:
        """asyncio's own takes as many at once as wait, a thousand in a row; nobody else is served meanwhile."""
        until = time.perf_counter() + SLICE_SECONDS
        for _ in range(_ACCEPTED_AT_ONCE):
            if time.perf_counter() > until:
                return
            try:
                accepted, address = bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                _log.error("connection_not_accepted", error=repr(error))
                return
            if (waiting := self._shares.keep_waiting(address[0])) is not None:
                # Whoever tries again as soon as it is closed would cost more than one that waits.
                self._unserved.add(accepted)
                asyncio.get_running_loop().call_later(_WAIT_UNSERVED_SECONDS, self._let_go, accepted, waiting)
                continue
            share = self._shares.admit(address[0])
            if share is None:
                # A line for each would cost more than the connection did.
                self._not_accepted += 1
                accepted.close()
                continue
            accepted.setblocking(False)
            self._tasks.start(self._serve(accepted, share), name="client connection")

    def _let_go(self, accepted: socket.socket, share: Share) -> None:
        self._unserved.discard(accepted)
        accepted.close()
        self._shares.give_back(share)

    async def _serve(self, accepted: socket.socket, share: Share) -> None:
        connection: GateConnection | None = None
        try:
            connection = await self._begin(accepted, share)
            if connection is None:
                return
            self._connections[connection.client] = (connection, asyncio.current_task())
            self._shares.enter(connection, share)
            CLIENT_CONNECTIONS.inc()
            await connection.handle_client()
        finally:
            if connection is None:
                accepted.close()
                self._shares.give_back(share)
            else:
                self._end(connection, share)

    async def _begin(self, accepted: socket.socket, share: Share) -> GateConnection | None:
        if self._addons is None:
            raise UnavailableError("the listener was never opened")
        if self._turns.must_wait(share):
            await self._turns.wait(share)
        began = time.perf_counter()
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_READ_AHEAD_BYTES, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, accepted)
        except OSError as error:
            _log.warning("connection_not_accepted", error=repr(error))
            return None
        transport.max_size = READ_BEHIND_OTHERS_BYTES  # type: ignore[attr-defined] # of the selector's transports
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            connection = GateConnection(
                self._addons, reader, writer, self._options, self._mode, self._tasks, self._turns
            )
        except Exception as error:  # noqa: BLE001 - nothing was begun, so nothing can be left open
            # A peer that is gone already has no address any more.
            _log.warning("connection_not_accepted", error=repr(error))
            writer.close()
            return None
        connection.state.on_identified = partial(self._shares.identified, connection)
        self._turns.charge(share, time.perf_counter() - began)
        return connection

    def _end(self, connection: GateConnection, address: Share) -> None:
        CLIENT_CONNECTIONS.dec()
        del self._connections[connection.client]
        if connection.state.caller is None:
            address.count_refusal()
        self._shares.leave(connection)
        self._settle(connection.client)
        connection.forget()

    async def _keep_closing_overdue(self) -> None:
        """One look at all of them now and then: a timer for each request would cost more than the request's head."""
        while True:
            await asyncio.sleep(min(_LONGEST_LOOK_SECONDS, self._head_seconds / 4))
            if self._not_accepted:
                _log.warning(
                    "connections_not_accepted", count=self._not_accepted, error="too many, or refused too often"
                )
                self._not_accepted = 0
            begun_before = time.monotonic() - self._head_seconds
            for connection, _ in list(self._connections.values()):
                since = connection.state.head_since
                if since is not None and since < begun_before and not connection.closing:
                    _log.info("connection_closed", reason="the head of a request did not arrive in time")
                    connection.hard_close("the head of a request did not arrive in time")

    def _settle(self, client: Client) -> None:
        """Every request that was allowed is told its end, and every byte is given back, however it went."""
        state = client_state(client)
        self._budget.release_all(state)
        for flow in list(state.unfinished):
            ending = Ending.BROKEN if flow.sent_upstream else Ending.NOT_SENT
            flow.complete(Completion(ending, error="the client's connection ended"))


def _bind(family: socket.AddressFamily, address: tuple[Any, ...]) -> socket.socket:
    """Raises UnavailableError where the address is not this machine's, or taken by somebody who does not share it."""
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family is socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise UnavailableError(f"cannot listen on {address[0]} port {address[1]}: {error.strerror}") from error
    return bound


def reserve_port(host: str, port: int) -> socket.socket:
    """A bound socket that keeps ``port`` (0: any that is free) for the workers, which bind it again.

    It never listens, so the kernel gives it no connections. Raises UnavailableError where the port is taken
    by somebody who does not share it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reserved = socket.socket(family, socket.SOCK_STREAM)
    try:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind((host, port))
    except OSError as error:
        reserved.close()
        raise UnavailableError(f"port {port} on {host} cannot be used: {error.strerror}") from error
    return reserved
