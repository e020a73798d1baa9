"""The streams of one connection of HTTP/2 that are WebSockets, or ask to be (RFC 8441).

Such a stream has no end of its request. What its client sends before the answer is refused, as nobody has decided yet
(RFC 6455, 4.1); once it is open, its data are the bytes of the WebSocket. A client that does not take what it is sent
cannot make the gate keep more by sending more, pings for example.
"""

import os
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from h2 import events as h2_events
from h2.errors import ErrorCodes
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands
from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._http2 import StreamState
from msgspec import Struct

from headgate.kernel.errors import AmbiguousRequestError, HeadgateError
from proxy.commands import Commands
from proxy.extended_connect import KEY_BYTES, SWITCHED, handshake, opened_head

if TYPE_CHECKING:
    from proxy.http2 import GateHttp2Server

UNTAKEN_MAX_BYTES: Final = 2 << 20
"""Of all streams of a connection. No more is fetched from the servers long before."""

_CHECKED_EVERY_BYTES: Final = 4 << 10
"""Of what clients send: counting at each frame would cost more than the frame. Answers to so many bytes of pings take
some 170 KiB."""

DROPPED_MAX_BYTES: Final = 64 << 10
"""Of what a client still sends on a stream that has ended for the gate; then the stream is reset."""

type SocketEvent = h2_events.DataReceived | h2_events.StreamEnded | h2_events.StreamReset | h2_events.TrailersReceived


class _Phase(Enum):
    ASKED = auto()
    OPEN = auto()
    ANSWERED = auto()  # with something else than a WebSocket
    OVER = auto()


class _Socket(Struct):
    phase: _Phase = _Phase.ASKED
    dropped_bytes: int = 0


class SocketStreams:
    """``is_untaken``: whether the connection's client has still to take more than so many bytes."""

    def __init__(self, server: "GateHttp2Server", is_untaken: Callable[[int], bool]) -> None:
        self._server = server
        self._is_untaken = is_untaken
        self._unchecked_bytes = 0
        self._sockets: dict[int, _Socket] = {}

    def __contains__(self, stream_id: int) -> bool:
        return stream_id in self._sockets

    def ask(self, event: h2_events.RequestReceived) -> Commands[bool]:
        """A head that asks for a tunnel. Whether the connection has ended."""
        server, stream_id = self._server, event.stream_id
        for ended in [one for one, socket in self._sockets.items() if socket.phase is _Phase.OVER]:
            if server.is_closed(ended):
                self._forget(ended)
        try:
            request = handshake(event.headers, os.urandom(KEY_BYTES), is_ended=event.stream_ended is not None)
        except HeadgateError as error:
            self._sockets[stream_id] = _Socket(_Phase.OVER)
            return (yield from self._refuse(stream_id, error))
        self._sockets[stream_id] = _Socket()
        server.streams[stream_id] = StreamState.HEADERS_RECEIVED
        yield ReceiveHttp(RequestHeaders(stream_id, request, end_stream=True))
        yield ReceiveHttp(RequestEndOfMessage(stream_id))
        return False

    def receive(self, stream_id: int, event: SocketEvent) -> Commands[bool]:
        """Of a stream that is one of these. Whether the connection has ended."""
        socket = self._sockets[stream_id]
        if isinstance(event, h2_events.StreamReset):
            has_ended = yield from self._server.receive_plainly(event)
            self._forget(stream_id)
            return has_ended
        if isinstance(event, h2_events.StreamEnded):
            return (yield from self._half_closed(stream_id, socket, event))
        if isinstance(event, h2_events.DataReceived):
            if socket.phase is _Phase.OPEN and event.data:
                return (yield from self._data(stream_id, event))
            self._server.h2_conn.acknowledge_received_data(event.flow_controlled_length, stream_id)
            if socket.phase is not _Phase.ASKED:
                yield from self._drop(stream_id, socket, len(event.data))
                return False
            if not event.data:
                return False
        if socket.phase is _Phase.ASKED:
            early = AmbiguousRequestError("the client sent data of a WebSocket before the answer to its handshake")
            yield from self._give_up(stream_id, early.message)
            return (yield from self._refuse(stream_id, early))
        return False  # trailers of what has none

    def tell(self, event: HttpEvent) -> Commands[None]:
        """What the client is to hear on a stream that is one of these."""
        server, stream_id = self._server, event.stream_id
        socket = self._sockets[stream_id]
        if socket.phase is _Phase.OVER or not server.conn.state & ConnectionState.CAN_WRITE:
            return
        if isinstance(event, ResponseHeaders) and event.response.status_code == SWITCHED:
            socket.phase = _Phase.OPEN
            if server.is_open_for_us(stream_id):
                server.h2_conn.send_headers(stream_id, opened_head(event.response))
                yield commands.SendData(server.conn, server.h2_conn.data_to_send())
            return
        if isinstance(event, ResponseHeaders) and event.response.status_code >= 200:
            socket.phase = _Phase.ANSWERED
            if event.response.status_code < 300:  # it would say that the WebSocket is open
                yield from server.refuse(stream_id, AmbiguousRequestError("no WebSocket can be opened at this address"))
                self._over(stream_id)
                return
        is_close = isinstance(event, ResponseProtocolError) and event.code is ErrorCode.PASSTHROUGH_CLOSE
        if is_close and server.is_open_for_us(stream_id):
            # RFC 8441, 5.1: the orderly end. A reset could overtake what the client is to read.
            server.h2_conn.end_stream(stream_id)
            yield commands.SendData(server.conn, server.h2_conn.data_to_send())
        elif not is_close:
            yield from server.tell_plainly(event)
        if isinstance(event, ResponseProtocolError | ResponseEndOfMessage) or not server.is_open_for_us(stream_id):
            self._over(stream_id)

    def _half_closed(self, stream_id: int, socket: _Socket, event: h2_events.StreamEnded) -> Commands[bool]:
        if socket.phase is _Phase.OPEN:
            yield from self._server.receive_plainly(event)
        elif socket.phase is _Phase.ASKED:
            yield from self._give_up(stream_id, "the client ended its WebSocket before it was open")
            yield from self._reset(stream_id, ErrorCodes.CANCEL)
            return (yield from self._server.count_refusal())
        if self._server.is_closed(stream_id):
            self._forget(stream_id)
        return False

    def _data(self, stream_id: int, event: h2_events.DataReceived) -> Commands[bool]:
        self._unchecked_bytes += len(event.data)
        if self._unchecked_bytes < _CHECKED_EVERY_BYTES:
            return (yield from self._server.receive_plainly(event))
        self._unchecked_bytes = 0
        if not self._is_untaken(UNTAKEN_MAX_BYTES):
            return (yield from self._server.receive_plainly(event))
        self._server.h2_conn.acknowledge_received_data(event.flow_controlled_length, stream_id)
        yield from self._give_up(stream_id, "the client does not take what it is sent")
        yield from self._reset(stream_id, ErrorCodes.ENHANCE_YOUR_CALM)
        return False

    def _drop(self, stream_id: int, socket: _Socket, size: int) -> Commands[None]:
        socket.dropped_bytes += size
        if socket.phase is _Phase.OVER and socket.dropped_bytes > DROPPED_MAX_BYTES:
            yield from self._reset(stream_id, ErrorCodes.CANCEL)

    def _give_up(self, stream_id: int, why: str) -> Commands[None]:
        """The stream hears the same as if its client had reset it."""
        self._over(stream_id)
        self._server.streams.pop(stream_id, None)
        yield ReceiveHttp(RequestProtocolError(stream_id, why, ErrorCode.CANCEL))

    def _over(self, stream_id: int) -> None:
        self._sockets[stream_id].phase = _Phase.OVER

    def _forget(self, stream_id: int) -> None:
        """Not while the connection tells all streams that it ends."""
        self._sockets.pop(stream_id, None)
        self._server.streams.pop(stream_id, None)

    def _refuse(self, stream_id: int, error: HeadgateError) -> Commands[bool]:
        yield from self._server.refuse(stream_id, error)
        return (yield from self._server.count_refusal())

    def _reset(self, stream_id: int, code: ErrorCodes) -> Commands[None]:
        server = self._server
        if not server.is_closed(stream_id):
            server.h2_conn.reset_stream(stream_id, code)
            yield commands.SendData(server.conn, server.h2_conn.data_to_send())
        self._forget(stream_id)
