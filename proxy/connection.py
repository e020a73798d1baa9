"""One client connection: mitmproxy's handler with an event loop that starts fewer tasks and fails closed.

Differs from ``mitmproxy.proxy.server.ConnectionHandler`` in this: events that arise while one is handled are queued
instead of waiting for a lock, hooks of plain functions run inline, and the layers that have opened a tunnel are not
asked about what passes in it. A layer that raises closes the connection, and a server connection that fails in any way
ends its call, where mitmproxy leaves the client waiting. What is read is handled in its party's turn (``proxy.turns``).
"""

import asyncio
import time
from asyncio import StreamReader, StreamWriter
from collections import defaultdict, deque
from contextlib import nullcontext
from time import perf_counter
from traceback import format_exc
from typing import Any, Final, cast

import structlog
from mitmproxy.connection import Connection, ConnectionState
from mitmproxy.proxy import commands, events, layers, server, server_hooks
from mitmproxy.proxy.layers.http._hooks import HttpResponseHook
from mitmproxy.proxy.mode_specs import ProxyMode

from addons.verdict import ClientState, open_client
from headgate.kernel.tasks import TaskSet
from headgate.kernel.wake_signal import WakeSignal
from proxy.commands import Awaited, TunnelOpened
from proxy.cycles import take_apart
from proxy.dispatch import GateAddonManager, HookChain, Waiting, fail_closed
from proxy.turns import Timed, Turns

_log = structlog.get_logger(__name__)


READ_AT_ONCE_BYTES: Final = 64 << 10
"""As much as mitmproxy asks for. asyncio's own 256 KiB, of all connections at once, are no part of any budget."""

READ_BEHIND_OTHERS_BYTES: Final = 16 << 10
"""Of a client that has only begun, or has to wait for its turn: the rest stays with the kernel, which slows the sender
down. 64 KiB of each of ten thousand uploads took 1.3 GB of memory beside the budget."""

_LINGER_SECONDS: Final = 1.0


class _InTurn:
    """A reader whose bytes are given out when it is their party's turn."""

    def __init__(self, reader: StreamReader, transport: Any, connection: "GateConnection", *, is_client: bool) -> None:
        self._reader = reader
        self._transport = transport  # the selector's
        transport.max_size = READ_BEHIND_OTHERS_BYTES if is_client else READ_AT_ONCE_BYTES
        self._connection = connection
        self._is_client = is_client

    async def read(self, size: int) -> bytes:
        connection = self._connection
        if self._is_client and connection.behind:
            await connection.caught_up.wait()
        reader: Any = self._reader
        if connection.lingering and self._is_client:
            await connection.drop_the_rest(reader)
            return b""
        if not reader._buffer and not reader._eof and reader.exception() is None:
            await reader._wait_for_data("read")
        # Nothing is taken before: what waits for its turn stays where asyncio stops reading, and is held once.
        has_waited = connection.turns.must_wait(share := connection.state.share)
        if has_waited:
            await connection.turns.wait(share)
        data = await self._reader.read(size)
        if self._is_client and len(data) >= READ_BEHIND_OTHERS_BYTES:
            self._transport.max_size = READ_BEHIND_OTHERS_BYTES if has_waited else READ_AT_ONCE_BYTES
        return data


class GateConnection(server.LiveConnectionHandler):
    """A client, from accept to close."""

    def __init__(
        self,
        addons: GateAddonManager,
        reader: StreamReader,
        writer: StreamWriter,
        options: Any,  # a frozen copy of mitmproxy's options; its own class cannot be made without the defaults
        mode: ProxyMode,
        tasks: TaskSet,
        turns: Turns,
    ) -> None:
        super().__init__(reader, writer, options, mode)
        # mitmproxy's semaphores let five connections to one server be open. The call behind five answers without an end
        # would wait for ever, and a client's streams are bounded (RFC 9113, 5.1.2).
        self.max_conns = defaultdict(nullcontext)  # type: ignore[arg-type] # it is only entered
        self.turns = turns
        self.behind = 0
        """How many layers have put off a part of what they were given (``commands.RequestWakeup`` of no delay)."""
        self.caught_up = WakeSignal()
        self._addons = addons
        self._tasks = tasks
        self._queue: deque[events.Event] = deque()
        self._busy = False
        self._outgoing: list[tuple[StreamWriter, list[bytes]]] = []
        self._closing = False
        self._crashed = False
        self.lingering = False
        """What the client still sends is read and dropped: closed at once, with bytes unread, the connection would be
        reset, and many clients would not see the last answer (RFC 9112, 9.6; RFC 9113, 5.4.1)."""
        self.layer = layers.modes.HttpProxy(self.layer.context)
        self.state = ClientState(self.client, self.hard_close)
        open_client(self.state)

    @property
    def closing(self) -> bool:
        return self._closing

    @property
    def idle_since(self) -> float | None:
        """Of ``time.time``; None: a request is under way."""
        state = self.state
        if state.unfinished or state.buffered_bytes or state.head_since is not None or self.behind:
            return None
        return float(self.timeout_watchdog.last_activity)

    def hard_close(self, reason: str) -> None:
        """Cut the client's connection; requests in flight end as broken."""
        self._closing = True
        io = self.transports.get(self.client)
        if io is None:
            return
        if io.handler is not None:
            io.handler.cancel(reason)
        elif io.writer is not None:
            io.writer.close()

    def forget(self) -> None:
        """At the end, when nothing of it is read or written any more: what is still under way finishes without it."""
        self._closing = self._crashed = True
        self._queue.clear()
        take_apart(self.layer)
        self.transports.clear()
        del self.timeout_watchdog.callback
        self.state.close = _nothing
        self.state.on_identified = None

    async def open_connection(self, command: commands.OpenConnection) -> None:
        """As mitmproxy does it, and whatever it raises, the call that waits for the connection ends: mitmproxy asserts
        that a server has an address, and one that has reset the connection by then has none."""
        try:
            await super().open_connection(command)
        except Exception as error:  # noqa: BLE001 - as above
            _log.warning("server_connection_failed", error=repr(error))
            if command.connection.peername is None:
                await self._not_opened(command)
            else:
                self.hard_close("crashed")

    async def _not_opened(self, command: commands.OpenConnection) -> None:
        connection = command.connection
        io = self.transports.pop(connection, None)
        if io is not None and isinstance(io.writer, StreamWriter):
            io.writer.transport.abort()
        connection.state = ConnectionState.CLOSED
        connection.error = error = "the connection could not be opened"
        hook_data = server_hooks.ServerConnectionHookData(client=self.client, server=connection)
        await self.handle_hook(server_hooks.ServerConnectErrorHook(hook_data))
        await self.server_event(events.OpenConnectionCompleted(command, error))

    async def handle_connection(self, connection: Connection) -> None:
        io = self.transports[connection]
        reader: Any = io.reader
        if isinstance(io.writer, StreamWriter):
            is_client = connection is self.client
            io.reader = _InTurn(reader, io.writer.transport, self, is_client=is_client)  # type: ignore[assignment] # it is only read
        try:
            await super().handle_connection(connection)
        except asyncio.CancelledError as error:
            # mitmproxy keeps it in a variable of a frame to which its traceback refers (``proxy.cycles``).
            raise error.with_traceback(None) from None
        finally:
            io.handler = None

    async def drain_writers(self) -> None:
        """As mitmproxy does it, between two reads; and no more is read from a server that is ahead of the client."""
        await super().drain_writers()  # type: ignore[no-untyped-call] # untyped in mitmproxy
        if self.state.throttled or self.state.inspecting:
            task = asyncio.current_task()
            reading = next((one for one, io in self.transports.items() if io.handler is task), None)
            while reading is not None and self.state.is_held_back(reading):
                await self.state.unthrottled.wait()

    async def handle_hook(self, hook: commands.StartHook) -> None:
        chain = self._addons.hook_chain(hook)
        if chain is None:
            return
        data = getattr(hook, chain.field)
        outcome = chain.begin(data)
        if isinstance(outcome, Waiting):
            await self._finish(hook, chain, data, outcome)
        elif outcome is not None:
            fail_closed(hook.name, data, outcome, self.hard_close)

    async def _finish(self, hook: commands.StartHook, chain: HookChain, data: object, waiting: Waiting) -> None:
        with self.timeout_watchdog.disarm():
            failure = await chain.finish(data, waiting)
        if failure is not None:
            fail_closed(hook.name, data, failure, self.hard_close)

    async def _finish_and_go_on(
        self, hook: commands.StartHook, chain: HookChain, data: object, waiting: Waiting
    ) -> None:
        share = self.state.share
        if self.turns.must_wait(share):
            try:
                await self.turns.wait(share)
            except BaseException:
                waiting.coroutine.close()
                raise
        await Timed(self._finish(hook, chain, data, waiting), self.turns, share)
        if hook.blocking:
            await self.server_event(events.HookCompleted(hook))

    async def server_event(self, event: events.Event) -> None:
        self._queue.append(event)
        if self._busy:
            return  # the caller further up the stack takes it from the queue
        self._busy = True
        began = perf_counter()
        try:
            self.timeout_watchdog.last_activity = time.time()
            while self._queue:
                self._handle(self._queue.popleft())
        finally:
            self._flush()
            self._busy = False
            self.turns.charge(self.state.share, perf_counter() - began)

    def _handle(self, event: events.Event) -> None:
        if self._crashed or (self._closing and not isinstance(event, events.ConnectionClosed)):
            return
        if self.lingering and isinstance(event, events.DataReceived) and event.connection is self.client:
            return
        try:
            for command in self.layer.handle_event(event):
                self._execute(command)
        except Exception as error:  # noqa: BLE001 - whatever a layer raises
            # A layer that raised is in no known state: nothing more may pass through it.
            _log.error("connection_crashed", error=repr(error), traceback=format_exc())
            self._crashed = True
            self.hard_close("crashed")

    def _execute(self, command: commands.Command) -> None:
        if isinstance(command, commands.StartHook):
            self._start_hook(command)
        elif isinstance(command, commands.SendData):
            io = self.transports.get(command.connection)
            if io is not None and isinstance(io.writer, StreamWriter):
                self._write(io.writer, command.data)
        elif isinstance(command, commands.Log):
            self.log(command.message, command.level)
        elif isinstance(command, TunnelOpened):
            self.layer = command.inner
        elif isinstance(command, commands.OpenConnection):
            self.transports[command.connection] = server.ConnectionIO()
            task = self._tasks.start(self.open_connection(command), name="server connection")
            if (io := self.transports.get(command.connection)) is not None:
                io.handler = task
        elif isinstance(command, Awaited):
            self.wakeup_timer.add(self._tasks.start(self._await(command), name="awaited"))
        elif isinstance(command, commands.RequestWakeup) and not command.delay:
            self.behind += 1
            self.wakeup_timer.add(self._tasks.start(self._go_on(command), name="go on"))
        elif isinstance(command, commands.RequestWakeup):
            self.wakeup_timer.add(self._tasks.start(self.wakeup(command), name="wakeup"))
        elif isinstance(command, commands.CloseConnection):
            self._close(command)
        else:
            raise TypeError(f"unexpected command: {command}")

    def _close(self, command: commands.CloseConnection) -> None:
        if command.connection not in self.transports:
            return
        self._flush()
        half = isinstance(command, commands.CloseTcpConnection) and command.half_close
        if command.connection is self.client and not half:
            self._linger()
        else:
            self.close_connection(command.connection, half)

    def _linger(self) -> None:
        io = self.transports[self.client]
        if self.lingering or io.handler is None or not isinstance(io.writer, StreamWriter):
            return
        self.lingering = True
        self.client.state = ConnectionState.CLOSED
        try:
            io.writer.write_eof()
        except OSError:  # the client has reset the connection
            io.handler.cancel("closed by command")
            return
        asyncio.get_running_loop().call_later(_LINGER_SECONDS, io.handler.cancel, "closed by command")

    async def drop_the_rest(self, reader: StreamReader) -> None:
        """Until the client closes, or is cut off."""
        share = self.state.share
        while await reader.read(READ_AT_ONCE_BYTES):
            if self.turns.must_wait(share):
                await self.turns.wait(share)

    async def _go_on(self, request: commands.RequestWakeup) -> None:
        """A layer goes on with what it has put off, in a later turn; no more is read from the client until then."""
        try:
            await self.turns.wait(self.state.share)
            await self.server_event(events.Wakeup(request))
        finally:
            self.behind -= 1
            if not self.behind:
                self.caught_up.wake()
            self.wakeup_timer.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _await(self, request: Awaited) -> None:
        """Its coroutine keeps what came of it, failures included; what ends the connection cancels it."""
        if request.stops_reading:
            self.behind += 1
        try:
            if self.turns.must_wait(self.state.share):
                try:
                    await self.turns.wait(self.state.share)
                except BaseException:
                    request.coroutine.close()
                    raise
            await Timed(request.coroutine, self.turns, self.state.share)
            await self.server_event(events.Wakeup(request))
        finally:
            if request.stops_reading:
                self.behind -= 1
                if not self.behind:
                    self.caught_up.wake()
            self.wakeup_timer.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    def _write(self, writer: StreamWriter, data: bytes) -> None:
        """Head and body of a message come as two commands; written as one they are one packet and one system call."""
        if self._outgoing and self._outgoing[-1][0] is writer:
            self._outgoing[-1][1].append(data)
        else:
            self._outgoing.append((writer, [data]))

    def _flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, []
        for writer, pieces in outgoing:
            if not writer.is_closing():
                writer.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def _start_hook(self, hook: commands.StartHook) -> None:
        if type(hook) is HttpResponseHook:
            self._flush()  # the client need not wait for what is only told afterwards
        chain = self._addons.hook_chain(hook)
        if chain is not None:
            data = getattr(hook, chain.field)
            outcome = chain.begin(data)
            if isinstance(outcome, Waiting):
                self._tasks.start(self._finish_and_go_on(hook, chain, data, outcome), name=hook.name)
                return
            if outcome is not None:
                fail_closed(hook.name, data, outcome, self.hard_close)
        if hook.blocking:
            self._queue.append(events.HookCompleted(hook))


def _nothing(_: str) -> None:
    """Closes a connection that has ended."""
