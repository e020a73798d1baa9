"""The answer of an MCP call that is held: begun before anybody has decided, so that its client goes on waiting.

MCP, "Sending Messages to the Server": a server may answer a request with an event stream, in which other messages come
before the response. So the head of a stream is sent, then a comment or, where the client sent a token, a progress
notification (MCP, "Progress") every few seconds; what follows in the end, be it the destination's answer or a refusal,
becomes the last events of the stream. Nothing has gone upstream by then; the record knows the answer as it came.
"""

import json
import time
from typing import Final

from mitmproxy.http import Headers, Request, Response
from mitmproxy.proxy.layers.http._base import HttpEvent
from mitmproxy.proxy.layers.http._events import (
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
    ResponseTrailers,
)

from headgate.protocols.answer_head import StreamKind, parse_answer_head
from headgate.protocols.coded_stream import Decoder, UndecodableError, decoder_of
from headgate.protocols.mcp_exchange import McpExchange, has_client_headers

FIRST_SECONDS: Final = 5.0
"""After the request has come; a call that is decided by then is answered as any other."""
EVERY_SECONDS: Final = 10.0
_HEAD: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)
_CHUNKED: Final = (b"transfer-encoding", b"chunked")
_COMMENT: Final = b": waiting for a decision\n\n"
_DATA: Final = b"event: message\ndata: "
_SERVER_ERROR: Final = -32000  # JSON-RPC 2.0, 5.1
_NO_LINE_ENDS: Final = bytes.maketrans(b"\r\n", b"  ")


def may_wait(request: Request) -> bool:
    """Whether its client takes an event stream in place of an answer: a first look, before it is read."""
    if request.data.method != b"POST":
        return False
    headers = request.headers
    return has_client_headers({name: headers.get(name) for name in ("accept", "content-type")})


class KeptAlive:
    """Of one call. ``events`` go to the client in place of those that would have gone."""

    def __init__(self, stream_id: int, exchange: McpExchange, *, is_http2: bool) -> None:
        self._stream_id = stream_id
        self._exchange = exchange
        self._is_http2 = is_http2
        self._told = 0
        self._end = b""
        self._decoder: Decoder | None = None
        self._forwards = False
        self._is_one_message = False

    def begin(self) -> list[HttpEvent]:
        seconds = time.time()
        fields = _HEAD if self._is_http2 else (*_HEAD, _CHUNKED)
        response = Response(b"HTTP/1.1", 200, b"OK", Headers(fields), None, None, seconds, None)
        return [ResponseHeaders(self._stream_id, response, False), *self.go_on()]

    def go_on(self) -> list[HttpEvent]:
        self._told += 1
        token = self._exchange.progress_token
        if token is None:
            return self._data(_COMMENT)
        params = {"progressToken": token, "progress": self._told, "message": "waiting for a decision"}
        return self._data(_event({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))

    def events(self, event: HttpEvent) -> list[HttpEvent]:
        """What goes to the client in place of ``event``."""
        if isinstance(event, ResponseHeaders):
            return self._data(self._begin_answer(event.response))
        if isinstance(event, ResponseData):
            return self._data(self._piece(event.data)) if self._forwards else []
        if isinstance(event, ResponseTrailers):
            return []
        if isinstance(event, ResponseEndOfMessage):
            return [*self._data(self._end), event]
        if isinstance(event, ResponseProtocolError):
            return [*self._data(self._refused("the answer broke off")), event]
        return [event]

    def _begin_answer(self, response: Response) -> bytes:
        """What comes before the body of the answer."""
        data = response.data
        head = parse_answer_head(data.status_code, data.headers.fields, method="POST")
        if head.bodyless or (head.stream is not StreamKind.EVENTS and head.media_type != "application/json"):
            return self._refused(f"the server answered {head.status}, and not with a message")
        if head.status >= 400:
            return self._refused(f"the server answered {head.status}")
        try:
            self._decoder = decoder_of(head.coding)
        except UndecodableError:
            return self._refused("the server answered in a content coding that is unknown")
        self._forwards = True
        self._is_one_message = head.stream is None
        self._end = b"\n\n" if self._is_one_message else b""
        return _DATA if self._is_one_message else b""

    def _piece(self, data: bytes) -> bytes:
        try:
            decoded = data if self._decoder is None else self._decoder.feed(data)
        except UndecodableError:
            self._forwards, self._end = False, b""
            return b"\n\n" + self._refused("the server's answer is not in the content coding that it names")
        # Between JSON's tokens a line's end is as good as a space, and within them it cannot stand.
        return decoded.translate(_NO_LINE_ENDS) if self._is_one_message else decoded

    def _refused(self, why: str) -> bytes:
        error = {"code": _SERVER_ERROR, "message": why}
        return _event({"jsonrpc": "2.0", "id": self._exchange.request_id, "error": error})

    def _data(self, data: bytes) -> list[HttpEvent]:
        return [ResponseData(self._stream_id, data)] if data else []


def _event(message: dict[str, object]) -> bytes:
    return _DATA + json.dumps(message).encode("ascii") + b"\n\n"
