"""mitmproxy's HTTP layer, closed where it is open: its client sides (``proxy.http1``, ``proxy.http2``) and its streams
(``proxy.stream``) are the gate's own, and a failure to connect does not outlast its request.

All of them subclass internal classes; ``tests/unit/proxy/test_internals.py`` pins the sources that they stand on, and
fails when mitmproxy changes them. ``proxy.next_layer`` puts them in place; none is patched.
"""

from collections.abc import Collection
from typing import Final

from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events, layer, tunnel
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import ServerTLSLayer
from mitmproxy.proxy.layers.http import (
    DropStream,
    GetHttpConnection,
    HttpClient,
    HttpLayer,
    HTTPMode,
    HttpStream,
    RegisterHttpConnection,
    SendHttp,
)
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import RequestHeaders

from addons.limits import RequestLimits
from addons.verdict import client_state
from proxy.budget import BufferBudget
from proxy.client_certificate import GateHttpConnection, GateServer, ShowingServer
from proxy.commands import Awaited, Commands
from proxy.cycles import empty
from proxy.http1 import GateHttp1Server
from proxy.http2 import GateHttp2Server
from proxy.stream import GateStream

ROUTED: Final = frozenset(
    {
        ReceiveHttp,
        SendHttp,
        DropStream,
        GetHttpConnection,
        GateHttpConnection,
        RegisterHttpConnection,
        commands.OpenConnection,
    }
)
"""What the HTTP layer acts on itself. None has other subclasses, which a test says as well."""


class GateHttpLayer(HttpLayer):
    """All requests of one client connection, or of one tunnel in it."""

    def __init__(self, context: Context, mode: HTTPMode, limits: RequestLimits, budget: BufferBudget) -> None:
        super().__init__(context, mode)
        self._limits = limits
        self._budget = budget
        self._failed: set[Connection] = set()
        self._dropped: list[HttpStream] = []

    def _handle_event(self, event: events.Event) -> Commands[None]:
        """The start: mitmproxy's would make a parser of its own as well. Its upstream mode is not ours."""
        if not isinstance(event, events.Start):
            raise TypeError(f"not a start: {event}")
        self.connections[self.context.client] = server = (
            GateHttp2Server(self.context.fork(), self._throttle, opens_sockets=self.mode is HTTPMode.transparent)
            if self.context.client.alpn == b"h2"
            else GateHttp1Server(self.context.fork(), self._limits)
        )
        self._handle_event = super()._handle_event  # type: ignore[method-assign] # one call less for each event
        yield from self.event_to_child(server, event)

    def _handle_event_unless_failed(self, event: events.Event) -> Commands[None]:
        if not (isinstance(event, events.ConnectionEvent) and event.connection in self._failed):
            yield from super()._handle_event(event)

    def _throttle(self, stream_ids: Collection[int]) -> None:
        streams = (self.streams[one] for one in stream_ids if one in self.streams)
        client_state(self.context.client).throttle(stream.context.server for stream in streams)

    def event_to_child(self, child: layer.Layer | HttpStream, event: events.Event) -> Commands[None]:
        """As mitmproxy's, which asks of each command, in turn, whether it is one of seven kinds. Most are none."""
        for command in child.handle_event(event):
            kind = type(command)
            if command.blocking or kind is commands.RequestWakeup or kind is Awaited:
                self.command_sources[command] = child
            if kind not in ROUTED:
                yield command
            elif isinstance(command, ReceiveHttp):
                if isinstance(command.event, RequestHeaders):
                    yield from self.make_stream(command.event.stream_id)
                if (stream := self.streams.get(command.event.stream_id)) is not None:
                    yield from self.event_to_child(stream, command.event)
            elif isinstance(command, SendHttp):
                yield from self.event_to_child(self.connections[command.connection], command.event)
            elif isinstance(command, DropStream):
                if (dropped := self.streams.pop(command.stream_id, None)) is not None:
                    self._dropped.append(dropped)
            elif isinstance(command, GetHttpConnection):
                yield from self.get_connection(command)
            elif isinstance(command, RegisterHttpConnection):
                yield from self.register_connection(command)
            elif isinstance(command, commands.OpenConnection):
                self.connections[command.connection] = child
                yield command

    def make_stream(self, stream_id: int) -> Commands[None]:
        # Not when they are dropped: their own code may still be under way.
        for dropped in self._dropped:
            empty(dropped)
            dropped.handle_event = _too_late  # type: ignore[assignment,method-assign] # a wake-up may still come
        self._dropped.clear()
        stream = GateStream(_fork(self.context), stream_id, self._limits, self._budget)
        self.streams[stream_id] = stream
        yield from self.event_to_child(stream, events.Start())

    def get_connection(self, event: GetHttpConnection, *, reuse: bool = True) -> Commands[None]:
        # mitmproxy answers every later request of the connection with the first failure to connect. A name
        # server's hiccup, or an allowlist that has been extended since, must not outlast the request.
        for connection in list(self.connections):
            if (
                connection.error
                and connection not in self.waiting_for_establishment
                and event.connection_spec_matches(connection)
            ):
                del self.connections[connection]
                self._failed.add(connection)
                self._handle_event = self._handle_event_unless_failed  # type: ignore[method-assign] # as above
        if isinstance(event, GateHttpConnection) and (
            event.is_for_socket or (event.shown is not None and not (reuse and self._has_open(event)))
        ):
            yield from self._open_own(event)
        else:
            yield from super().get_connection(event, reuse=reuse)

    def _has_open(self, event: GetHttpConnection) -> bool:
        """Whether mitmproxy finds one to use again, or one that is being opened, instead of making an ordinary one."""
        http1_for_http2 = self.context.client.alpn == b"h2"
        return any(
            event.connection_spec_matches(one)
            and (
                one in self.waiting_for_establishment or (one.connected and not (http1_for_http2 and one.alpn != b"h2"))
            )
            for one in self.connections
        )

    def _open_own(self, event: GateHttpConnection) -> Commands[None]:
        """As the end of mitmproxy's ``get_connection``, with a connection that shows a certificate, or that carries one
        WebSocket."""
        if not event.tls or event.via is not None or event.transport_protocol != "tcp":
            raise RuntimeError("a connection of its own is opened over TLS only")
        context = self.context.fork()
        context.server = opened = _own_server(event)
        if event.is_for_socket:
            opened.is_of_socket = True
            opened.alpn_offers = (b"http/1.1",)  # a server may prefer HTTP/2, over which it gets no handshake
        of_tunnel = self.mode is HTTPMode.transparent and event.address == self.context.server.address
        name = (self.context.server.sni or self.context.client.sni) if of_tunnel else None
        context.server.sni = name or event.address[0]
        stack = tunnel.LayerStack()
        stack /= ServerTLSLayer(context)
        stack /= HttpClient(context)
        self.connections[context.server] = stack[0]
        self.waiting_for_establishment[context.server].append(event)
        yield from self.event_to_child(stack[0], events.Start())


def _own_server(event: GateHttpConnection) -> GateServer:
    if event.shown is None:
        return GateServer(address=event.address)
    server = ShowingServer(address=event.address)
    server.shown = event.shown
    return server


def _fork(context: Context) -> Context:
    """``Context.fork`` without the server connection that it makes, with an identifier, and throws away."""
    forked = Context.__new__(Context)
    forked.client = context.client
    forked.server = context.server
    forked.options = context.options
    forked.layers = context.layers.copy()
    return forked


def _too_late(_: events.Event) -> Commands[None]:
    """For a stream that has ended."""
    yield from ()
