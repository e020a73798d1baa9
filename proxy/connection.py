"""One client connection: mitmproxy's handler with an event loop that starts fewer tasks and fails closed.

Differs from ``mitmproxy.proxy.server.ConnectionHandler.server_event`` in this: events that arise while one is
handled are queued instead of waiting for a lock, hooks of plain functions run inline, a layer that raises closes the
connection, where mitmproxy leaves the client waiting, and the layers that have opened a tunnel are not asked about what
passes in it.
"""

import asyncio
import time
from asyncio import StreamReader, StreamWriter
from collections import deque
from traceback import format_exc
from typing import Any

import structlog
from mitmproxy.proxy import commands, events, layers, server
from mitmproxy.proxy.layers.http._hooks import HttpResponseHook
from mitmproxy.proxy.mode_specs import ProxyMode

from addons.verdict import ClientState, open_client
from headgate.kernel.tasks import TaskSet
from proxy.commands import TunnelOpened
from proxy.dispatch import GateAddonManager, HookChain, Waiting, fail_closed

_log = structlog.get_logger(__name__)


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
    ) -> None:
        super().__init__(reader, writer, options, mode)
        self._addons = addons
        self._tasks = tasks
        self._queue: deque[events.Event] = deque()
        self._busy = False
        self._outgoing: list[tuple[StreamWriter, list[bytes]]] = []
        self._closing = False
        self._crashed = False
        self.layer = layers.modes.HttpProxy(self.layer.context)
        self.state = ClientState(self.client, self.hard_close)
        open_client(self.state)

    @property
    def closing(self) -> bool:
        return self._closing

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
        await self._finish(hook, chain, data, waiting)
        if hook.blocking:
            await self.server_event(events.HookCompleted(hook))

    async def server_event(self, event: events.Event) -> None:
        self._queue.append(event)
        if self._busy:
            return  # the caller further up the stack takes it from the queue
        self._busy = True
        try:
            self.timeout_watchdog.last_activity = time.time()
            while self._queue:
                self._handle(self._queue.popleft())
        finally:
            self._flush()
            self._busy = False

    def _handle(self, event: events.Event) -> None:
        if self._crashed or (self._closing and not isinstance(event, events.ConnectionClosed)):
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
        elif isinstance(command, commands.RequestWakeup):
            self.wakeup_timer.add(self._tasks.start(self.wakeup(command), name="wakeup"))
        elif isinstance(command, commands.CloseConnection):
            if command.connection in self.transports:
                self._flush()
                half = isinstance(command, commands.CloseTcpConnection) and command.half_close
                self.close_connection(command.connection, half)
        else:
            raise TypeError(f"unexpected command: {command}")

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
