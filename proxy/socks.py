"""SOCKS5 as another spelling of CONNECT (``proxy.socks_handshake``).

Nothing is decided here. The layer turns the handshake into a CONNECT request, and its answer into a reply of SOCKS. So
limits, identity, quotas and everything behind them see an ordinary CONNECT.
"""

from collections.abc import Callable
from typing import Final

from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context

from proxy.commands import Commands
from proxy.socks_handshake import FAILED, NOT_ALLOWED, SUCCEEDED, Handshake, RefusedHandshakeError, reply

_HEAD_MAX_BYTES: Final = 16 << 10


class Socks5Layer(layer.Layer):
    """``http`` makes the layer of an ordinary client connection, which receives the CONNECT request."""

    def __init__(self, context: Context, http: Callable[[], layer.Layer]) -> None:
        super().__init__(context)
        self._http = http()  # made after super(): a stream finds its layer right before itself in the context
        self._handshake = Handshake()
        self._head = b""
        self._is_open = self._is_over = False

    def _handle_event(self, event: events.Event) -> Commands[None]:
        if self._is_open or not (isinstance(event, events.DataReceived) and event.connection is self.context.client):
            yield from self._of_http(event)
        elif not self._is_over:
            try:
                answer = self._handshake.feed(event.data)
            except RefusedHandshakeError as refused:
                yield from self._end(refused.answer)
                return
            if answer:
                yield commands.SendData(self.context.client, answer)
            if self._handshake.connect is not None:
                yield from self._of_http(events.DataReceived(self.context.client, self._handshake.connect))

    def _of_http(self, event: events.Event) -> Commands[None]:
        for command in self._http.handle_event(event):
            if self._is_open or not (
                isinstance(command, commands.SendData | commands.CloseConnection)
                and command.connection is self.context.client
            ):
                yield command
            elif isinstance(command, commands.CloseConnection):
                yield from self._end(reply(FAILED))
            else:
                yield from self._answered(command.data)

    def _answered(self, data: bytes) -> Commands[None]:
        """Takes a part of the answer to CONNECT. SOCKS can pass on its status only."""
        if self._is_over:
            return
        self._head += data
        if b"\r\n\r\n" in self._head and self._head.startswith(b"HTTP/1.1 200 "):
            self._is_open = True
            yield commands.SendData(self.context.client, reply(SUCCEEDED))
        elif b"\r\n\r\n" in self._head or len(self._head) > _HEAD_MAX_BYTES:
            yield from self._end(reply(NOT_ALLOWED))

    def _end(self, answer: bytes) -> Commands[None]:
        if not self._is_over:
            self._is_over = True
            yield commands.SendData(self.context.client, answer)
            yield commands.CloseConnection(self.context.client)
