"""The client's side of HTTP/1: heads and pipelined bytes are bounded, and errors can be read.

Extends an internal class of mitmproxy; see ``proxy.layers``.
"""

from time import monotonic
from typing import Any

import h11
from h11._readers import ChunkedReader
from h11._receivebuffer import ReceiveBuffer, blank_line_regex
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestProtocolError,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._http1 import Http1Server

from addons.limits import RequestLimits
from addons.verdict import client_state
from headgate.kernel.errors import (
    AmbiguousRequestError,
    HeadgateError,
    PayloadTooLargeError,
    ProtocolRefusedError,
)
from proxy.chunks import JoinedChunks
from proxy.commands import Commands
from proxy.protocol_errors import error_response, protocol_error


class _TooManyLinesError(h11.RemoteProtocolError):
    """A block of header fields with more of them than a request may have."""


class _Received(ReceiveBuffer):
    """What has arrived and is not yet read: 16,000 empty fields are no more than 64 KB, and 0.1 s to parse."""

    def __init__(self, most_lines: int) -> None:
        super().__init__()
        self._most_lines = most_lines

    def maybe_extract_lines(self) -> list[bytearray] | None:
        data = self._data
        if len(data) > self._most_lines and data.count(b"\n") > self._most_lines:
            # Behind the head there may be others: only its own lines count, and they are not even split.
            end = blank_line_regex.search(data)
            if data.count(b"\n", 0, end.start() if end else len(data)) > self._most_lines:
                raise _TooManyLinesError(f"more than {self._most_lines} lines")
        return super().maybe_extract_lines()


class _ReadableError(commands.SendData):
    """An error of ours on its way to the client."""


class GateHttp1Server(Http1Server):
    """The client's side of HTTP/1: bounded, and with errors that can be read."""

    def __init__(self, context: Context, limits: RequestLimits) -> None:
        super().__init__(context)
        self._max_head = limits.head + limits.target
        self._max_fields = limits.header_fields
        self.buf = _Received(limits.header_fields + 1)
        self._client = client_state(context.client)
        self._incomplete: int | None = None

    def _handle_event(self, event: events.Event) -> Commands[None]:
        return self._go_on() if type(event) is events.Wakeup else super()._handle_event(event)

    def _go_on(self) -> Commands[None]:
        """With the next of the requests, or of the chunks, that came together."""
        if self.state == self.read_headers and self.buf:
            yield from self._read_head(events.DataReceived(self.conn, b""))
        elif self.state == self.read_body:
            yield from self.read_body(events.DataReceived(self.conn, b""))

    def read_headers(self, event: events.ConnectionEvent) -> Commands[None]:
        if isinstance(event, events.DataReceived) and not event.data:
            # Pipelined behind a request that has just been answered: others come first.
            yield commands.RequestWakeup(0)
        else:
            yield from self._read_head(event)

    def _read_head(self, event: events.ConnectionEvent) -> Commands[None]:
        try:
            for command in super().read_headers(event):
                # mitmproxy's own error, whose text holds what the client wrote.
                if isinstance(command, commands.SendData) and not isinstance(command, _ReadableError):
                    yield self._error(AmbiguousRequestError("not an unambiguous HTTP/1.1 request"))
                else:
                    yield command
        except _TooManyLinesError:
            yield self._error(PayloadTooLargeError(f"the head has more than {self._max_fields} header fields"))
            yield commands.CloseConnection(self.conn)
            self.state = self.done
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
        reader: Any = self.body_reader
        if type(reader) is ChunkedReader:
            self.body_reader = reader = JoinedChunks(reader)  # type: ignore[assignment] # it reads as they do
        try:
            for command in super().read_body(event):
                is_answered |= isinstance(command, _ReadableError)
                # mitmproxy closes without a word where chunks cannot be read.
                is_closing = isinstance(command, commands.CloseConnection) and isinstance(event, events.DataReceived)
                if is_closing and not is_answered and self.response is None:
                    yield self._error(AmbiguousRequestError("the chunks of the body are ambiguous"))
                yield command
        except NotImplementedError:
            # mitmproxy has no trailers in HTTP/1, and would leave the client waiting.
            yield self._error(ProtocolRefusedError("trailers are refused: no policy has seen them"))
            yield commands.CloseConnection(self.conn)
            yield ReceiveHttp(RequestProtocolError(self.stream_id, "trailers", ErrorCode.GENERIC_CLIENT_ERROR))
            self.state = self.done
        if type(reader) is JoinedChunks and reader.has_more and self.state == self.read_body:
            yield commands.RequestWakeup(0)

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
                yield self._error(protocol_error(event))
                yield commands.CloseConnection(self.conn)
            return
        if isinstance(event, ResponseHeaders) and self.request and self.request.data.http_version == b"HTTP/1.0":
            event = _without_chunks(event)
        yield from super().send(event)

    def _error(self, error: HeadgateError) -> _ReadableError:
        self._client.share.count_refusal()
        response = error_response(error)
        response.headers["connection"] = "close"
        head = f"HTTP/1.1 {response.status_code} {response.reason}\r\n".encode("ascii")
        return _ReadableError(self.conn, head + bytes(response.headers) + b"\r\n" + (response.raw_content or b""))


def _without_chunks(event: ResponseHeaders) -> ResponseHeaders:
    """For a client that reads to the end of the connection instead (RFC 9112, sections 6.1 and 6.3)."""
    if event.response.headers.get("transfer-encoding", "").strip().lower() != "chunked":
        return event
    response = event.response.copy()
    del response.headers["transfer-encoding"]
    return ResponseHeaders(event.stream_id, response, event.end_stream)
