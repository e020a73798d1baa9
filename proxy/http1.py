"""The client's side of HTTP/1: heads and pipelined bytes are bounded, and errors can be read.

Extends an internal class of mitmproxy; see ``proxy.layers``.
"""

from time import monotonic

from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestProtocolError,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._http1 import Http1Server

from addons.limits import RequestLimits
from addons.refusal import refusal_response
from addons.verdict import client_state
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import (
    AmbiguousRequestError,
    HeadgateError,
    PayloadTooLargeError,
    ProtocolRefusedError,
    UpstreamFailedError,
)
from proxy.commands import Commands


class _ReadableError(commands.SendData):
    """An error of ours on its way to the client."""


class GateHttp1Server(Http1Server):
    """The client's side of HTTP/1: bounded, and with errors that can be read."""

    def __init__(self, context: Context, limits: RequestLimits) -> None:
        super().__init__(context)
        self._max_head = limits.head + limits.target
        self._client = client_state(context.client)
        self._incomplete: int | None = None

    def read_headers(self, event: events.ConnectionEvent) -> Commands[None]:
        for command in super().read_headers(event):
            # mitmproxy's own error, whose text holds what the client wrote.
            if isinstance(command, commands.SendData) and not isinstance(command, _ReadableError):
                yield self._error(AmbiguousRequestError("not an HTTP/1.1 request that has one reading"))
            else:
                yield command
        if self.state == self.read_headers and self.buf:
            if self._incomplete != self.stream_id:
                self._incomplete = self.stream_id
                self._client.head_since = monotonic()
            if len(self.buf) > self._max_head:
                yield self._error(PayloadTooLargeError(f"the head is larger than {self._max_head} bytes"))
                yield commands.CloseConnection(self.conn)
                self.state = self.done
        elif self._client.head_since is not None:
            self._client.head_since = None

    def read_body(self, event: events.Event) -> Commands[None]:
        is_answered = False
        try:
            for command in super().read_body(event):
                is_answered |= isinstance(command, _ReadableError)
                # mitmproxy closes without a word where chunks cannot be read.
                is_closing = isinstance(command, commands.CloseConnection) and isinstance(event, events.DataReceived)
                if is_closing and not is_answered and self.response is None:
                    yield self._error(AmbiguousRequestError("the chunks of the body have no one reading"))
                yield command
        except NotImplementedError:
            # mitmproxy has no trailers in HTTP/1, and would leave the client waiting.
            yield self._error(ProtocolRefusedError("trailers are refused: no policy has seen them"))
            yield commands.CloseConnection(self.conn)
            yield ReceiveHttp(RequestProtocolError(self.stream_id, "trailers", ErrorCode.GENERIC_CLIENT_ERROR))
            self.state = self.done

    def wait(self, event: events.Event) -> Commands[None]:
        if isinstance(event, events.DataReceived) and len(self.buf) > self._max_head:
            # Bytes pipelined behind a held request would be kept without a bound.
            yield commands.CloseConnection(self.conn)
            yield ReceiveHttp(RequestProtocolError(self.stream_id, "too much pipelined", ErrorCode.CLIENT_DISCONNECTED))
            self.state = self.done
            return
        yield from super().wait(event)

    def send(self, event: HttpEvent) -> Commands[None]:
        if (
            isinstance(event, ResponseProtocolError)
            and self.response is None
            and event.code.http_status_code() is not None
        ):
            if self.conn.state & ConnectionState.CAN_WRITE:
                yield self._error(_protocol_error(event))
                yield commands.CloseConnection(self.conn)
            return
        yield from super().send(event)

    def _error(self, error: HeadgateError) -> _ReadableError:
        response = refusal_response(error, request_id="", now=system_clock())
        response.headers["connection"] = "close"
        head = f"HTTP/1.1 {response.status_code} {response.reason}\r\n".encode("ascii")
        return _ReadableError(self.conn, head + bytes(response.headers) + b"\r\n" + (response.raw_content or b""))


def _protocol_error(event: ResponseProtocolError) -> HeadgateError:
    if event.code.http_status_code() == 400:
        return AmbiguousRequestError("not an HTTP request that has one reading")
    return UpstreamFailedError(event.message)
