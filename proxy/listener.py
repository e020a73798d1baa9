"""Where clients come in: one socket, shared with the other workers of the machine, and one task per client."""

import asyncio
import socket
import time
from typing import Any, Final

import structlog
from mitmproxy.connection import Client
from mitmproxy.optmanager import OptManager
from mitmproxy.proxy.mode_specs import ProxyMode

from addons.metrics import CLIENT_CONNECTIONS
from addons.verdict import Completion, Ending, client_state
from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet
from proxy.budget import BufferBudget
from proxy.connection import GateConnection
from proxy.dispatch import GateAddonManager
from proxy.options import OptionsSnapshot

_log = structlog.get_logger(__name__)


_LONGEST_LOOK_SECONDS: Final = 2.5
_LAST_ANSWERS_SECONDS: Final = 0.1

_READ_AHEAD_BYTES: Final = 32 << 10
"""asyncio reads up to twice of this from a client before anybody asks for it."""

_READ_AT_ONCE_BYTES: Final = 64 << 10
"""As much as mitmproxy asks for. asyncio's own 256 KiB, of all clients at once, are no part of any budget: ten thousand
uploads took 1 GB of memory beside it."""


class Listener:
    """Listens with SO_REUSEPORT: the kernel spreads new connections over the workers that share the port.

    Whoever takes longer than ``head_seconds`` for the head of a request, or for the handshake before it, is cut off: a
    byte now and then would keep a connection for ever (slow loris). Beyond ``max_connections`` the oldest that has
    shown no key gives way to the newest: whoever has no key must not use up the process's file descriptors and so keep
    out those who have one.

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
        self._max_connections = max_connections
        self._host = host
        self._port = port
        self._budget = budget
        self._drain_seconds = drain_seconds
        self._server: asyncio.Server | None = None
        self._tasks = TaskSet(lambda name, error: _log.error("connection_failed", task=name, error=repr(error)))
        self._connections: dict[Client, tuple[GateConnection, asyncio.Task[Any] | None]] = {}
        self._addons: GateAddonManager | None = None
        self._options: OptionsSnapshot | None = None
        self._mode = ProxyMode.parse("regular")

    @property
    def ports(self) -> frozenset[int]:
        """The ports that this process listens on."""
        return frozenset(address[1] for address in self.addresses)

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        if self._server is None:
            return ()
        return tuple((name[0], name[1]) for name in (bound.getsockname() for bound in self._server.sockets))

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    async def open(self, addons: GateAddonManager, options: OptManager) -> None:
        """Raises UnavailableError where the address cannot be listened on."""
        self._addons = addons
        self._options = OptionsSnapshot(options)
        try:
            self._server = await asyncio.start_server(
                self._accept, self._host, self._port, limit=_READ_AHEAD_BYTES, reuse_port=True, backlog=1024
            )
        except OSError as error:
            raise UnavailableError(f"cannot listen on {self._host} port {self._port}: {error.strerror}") from error
        self._tasks.start(self._keep_closing_overdue(), name="heads")
        _log.info("proxy_listening", addresses=self.addresses)

    async def close(self) -> None:
        """Accept nobody new, give requests in flight ``drain_seconds``, then cut what is left."""
        if self._server is None:
            return
        self._server.close()
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

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._addons is None:
            raise UnavailableError("the listener was never opened")
        if len(self._connections) >= self._max_connections and not self._make_room():
            _log.warning("connection_not_accepted", error="too many connections")
            writer.close()
            return
        writer.transport.max_size = _READ_AT_ONCE_BYTES  # type: ignore[attr-defined] # of the selector's transports
        try:
            connection = GateConnection(self._addons, reader, writer, self._options, self._mode, self._tasks)
        except Exception as error:  # noqa: BLE001 - nothing was begun, so nothing can be left open
            # A peer that is gone already has no address any more.
            _log.warning("connection_not_accepted", error=repr(error))
            writer.close()
            return
        client = connection.client
        self._connections[client] = (connection, asyncio.current_task())
        CLIENT_CONNECTIONS.inc()
        try:
            await connection.handle_client()
        finally:
            CLIENT_CONNECTIONS.dec()
            del self._connections[client]
            self._settle(client)

    def _make_room(self) -> bool:
        for connection, _ in self._connections.values():
            if connection.state.caller is None and not connection.closing:
                connection.hard_close("too many connections")
                return True
        return False

    async def _keep_closing_overdue(self) -> None:
        """One look at all of them now and then: a timer for each request would cost more than the request's head."""
        while True:
            await asyncio.sleep(min(_LONGEST_LOOK_SECONDS, self._head_seconds / 4))
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
