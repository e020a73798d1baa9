"""The client's side of HTTP/2, with back pressure: what the client does not take is not fetched either. The time that a
head takes is known, what frames cost is bounded, and a few of them are read at a time.

mitmproxy keeps without a bound what HTTP/2's flow control (RFC 9113, 5.2) does not let it send, and reads on: one
agent with a window of zero had the gate take a download of 600 MB into memory. Extends internal classes of mitmproxy;
see ``proxy.layers``.
"""

from collections.abc import Callable, Collection
from time import monotonic
from typing import Final

from h2 import events as h2_events
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
from hyperframe.frame import DataFrame, HeadersFrame
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http._base import HttpEvent
from mitmproxy.proxy.layers.http._events import ResponseProtocolError
from mitmproxy.proxy.layers.http._http2 import Http2Server

from addons.verdict import client_state
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError
from proxy.commands import Commands
from proxy.extended_connect import is_connect
from proxy.frame_allowance import FrameAllowance
from proxy.http2_sockets import SocketStreams
from proxy.protocol_errors import NOT_ONE_READING, error_response, protocol_error

_PREFACE_BYTES: Final = 24
_FRAME_HEADER_BYTES: Final = 9
_FRAME_TYPE_AT: Final = 3
_HEADS: Final = frozenset((0x1, 0x9))  # HEADERS, CONTINUATION (RFC 9113, 6)

HELD_BACK_MAX: Final = 512 << 10
"""Bytes of responses that wait for one client to take them, before the servers that they come from must wait."""

_OF_STREAM: Final = (
    h2_events.DataReceived,
    h2_events.StreamEnded,
    h2_events.StreamReset,
    h2_events.TrailersReceived,
)

_CHUNK_COST: Final = 256
"""What keeping a chunk costs beside its bytes: a server may send one byte at a time."""


class GateHttp2Server(Http2Server):
    """Says, after each event, of which streams no more is to be fetched for now. ``opens_sockets``: of a tunnel, where
    a stream may be a WebSocket (RFC 8441)."""

    def __init__(
        self, context: Context, throttle: Callable[[Collection[int]], None], *, opens_sockets: bool = False
    ) -> None:
        super().__init__(context)
        self._sockets = SocketStreams(self, self._holds_back_more_than) if opens_sockets else None
        if opens_sockets:
            self.h2_conn.local_settings[SettingCodes.ENABLE_CONNECT_PROTOCOL] = 1
            self.h2_conn.local_settings.acknowledge()  # or it would be sent with its old value
        self._throttle = throttle
        self._client = client_state(context.client)
        self._incomplete: int | None = None
        self._allowance = FrameAllowance(monotonic())
        self._arrived = b""
        self._read_bytes = 0
        self._is_put_off = self._is_ended = False
        self._opening: int | None = None

    def handle_event(self, event: events.Event) -> Commands[None]:
        if isinstance(event, events.DataReceived):
            self._arrived = self._arrived[self._read_bytes :] + event.data if self._arrived else event.data
            self._read_bytes = 0
            yield from self._read_some()
        elif isinstance(event, events.Wakeup):
            self._is_put_off = False
            yield from self._read_some()
        else:
            yield from self._handled(event)
        buffers = self.h2_conn.stream_buffers
        self._throttle(list(buffers) if buffers and self._holds_back_more_than(HELD_BACK_MAX) else ())

    def _read_some(self) -> Commands[None]:
        """A few frames; the rest when others have had their turn."""
        if self._is_put_off or self._is_ended:
            return
        end, is_within = self._allowance.step(self._arrived, self._read_bytes, monotonic())
        if not is_within:
            self._arrived, self._is_ended = b"", True
            yield from self.protocol_error("too many frames that ask for nothing", ErrorCodes.ENHANCE_YOUR_CALM)
            return
        is_all = end >= len(self._arrived)
        data = self._arrived if is_all and not self._read_bytes else self._arrived[self._read_bytes : end]
        if is_all:
            self._arrived, self._read_bytes = b"", 0
        else:
            self._read_bytes = end
        yield from self._handled(events.DataReceived(self.conn, data))
        self._time_the_head()
        if self._arrived:
            self._is_put_off = True
            yield commands.RequestWakeup(0)

    def _handled(self, event: events.Event) -> Commands[None]:
        of_answer = isinstance(event, HttpEvent)
        for command in super().handle_event(event):
            if type(command) is commands.SendData:
                self._allowance.sent(len(command.data), monotonic(), of_answer=of_answer)
            yield command

    def _handle_event(self, event: events.Event) -> Commands[None]:
        if self._sockets is not None and isinstance(event, HttpEvent) and event.stream_id in self._sockets:
            yield from self._sockets.tell(event)
        else:
            yield from self.tell_plainly(event)

    def tell_plainly(self, event: events.Event) -> Commands[None]:
        """As on a stream that is no WebSocket."""
        if (
            isinstance(event, ResponseProtocolError)
            and event.code.http_status_code() is not None
            and self._is_unanswered(event.stream_id)
        ):
            yield from self._answer(event.stream_id, protocol_error(event))
        else:
            yield from super()._handle_event(event)

    def handle_h2_event(self, event: h2_events.Event) -> CommandGenerator[bool]:
        if isinstance(event, ProtocolError):
            yield from self._answer_malformed_head()
        if type(event) is h2_events.StreamReset and not self._may_take_back(event.stream_id):
            self._arrived, self._is_ended = b"", True
            yield from self.protocol_error("too many requests reset by the client", ErrorCodes.ENHANCE_YOUR_CALM)
            return True
        self._opening = event.stream_id if type(event) is h2_events.RequestReceived else None
        is_ended = yield from self._received(event)
        self._opening = None
        return is_ended

    def _received(self, event: h2_events.Event) -> Commands[bool]:
        if self._sockets is not None:
            if isinstance(event, h2_events.RequestReceived) and is_connect(event.headers):
                return (yield from self._sockets.ask(event))
            if isinstance(event, _OF_STREAM) and (stream_id := event.stream_id) in self._sockets:
                return (yield from self._sockets.receive(stream_id, event))
        return (yield from self.receive_plainly(event))

    def receive_plainly(self, event: h2_events.Event) -> Commands[bool]:
        """As on a stream that is no WebSocket."""
        return (yield from super().handle_h2_event(event))

    def refuse(self, stream_id: int, error: HeadgateError) -> Commands[None]:
        """Of a stream without an answer: what the client says on it from now on is dropped."""
        if self._is_unanswered(stream_id):
            yield from self._answer(stream_id, error)

    def count_refusal(self) -> Commands[bool]:
        """Of what no addon has seen. Whether it was one too many, and the connection has ended."""
        if self._client.share.count_refusal():
            return False
        self._arrived, self._is_ended, self._opening = b"", True, None
        yield from self.protocol_error("too many requests that are refused", ErrorCodes.ENHANCE_YOUR_CALM)
        return True

    def _may_take_back(self, stream_id: int) -> bool:
        """A request that the client resets before its answer costs a decision. So it counts as a refusal, over all
        connections of the agent: a new connection has a new allowance of frames."""
        stream = self.h2_conn.streams.get(stream_id)
        is_answered = stream is not None and stream.state_machine.headers_sent
        return is_answered or self._client.share.count_refusal()

    def protocol_error(self, message: str, error_code: int = ErrorCodes.PROTOCOL_ERROR) -> CommandGenerator[None]:
        if self._opening is not None and self._is_unanswered(self._opening):
            yield from self._answer(self._opening, AmbiguousRequestError(NOT_ONE_READING))
        yield from super().protocol_error(message, error_code)

    def _is_unanswered(self, stream_id: int) -> bool:
        return self.is_open_for_us(stream_id) and not self.h2_conn.streams[stream_id].state_machine.headers_sent

    def _answer(self, stream_id: int, error: HeadgateError) -> Commands[None]:
        response = error_response(error)
        head = [(b":status", b"%d" % response.status_code), *response.headers.fields]
        self.h2_conn.send_headers(stream_id, head)
        self.h2_conn.send_data(stream_id, response.raw_content or b"", end_stream=True)
        yield commands.SendData(self.conn, self.h2_conn.data_to_send())

    def _answer_malformed_head(self) -> Commands[None]:
        """Of a head that the library itself refuses: it has ended the connection, and sends no more frames of ours."""
        stream_id = self.h2_conn.highest_inbound_stream_id
        stream = self.h2_conn.streams.get(stream_id)
        if stream is None or stream_id in self.streams or stream.state_machine.headers_sent:
            return
        response = error_response(AmbiguousRequestError(NOT_ONE_READING))
        body = response.raw_content or b""
        if min(stream.outbound_flow_control_window, self.h2_conn.outbound_flow_control_window) < len(body):
            return
        fields = [(b":status", b"%d" % response.status_code), *response.headers.fields]
        head = HeadersFrame(stream_id, self.h2_conn.encoder.encode(fields), flags=["END_HEADERS"])
        frames = head.serialize() + DataFrame(stream_id, body, flags=["END_STREAM"]).serialize()
        yield commands.SendData(self.conn, frames)

    def _time_the_head(self) -> None:
        if not self._head_is_incomplete():
            self._client.head_since = self._incomplete = None
        elif self._incomplete != (latest := self.h2_conn.highest_inbound_stream_id):
            self._incomplete = latest
            self._client.head_since = monotonic()

    def _head_is_incomplete(self) -> bool:
        """Whether the connection preface, a frame's header, or a block of header fields has begun and not ended."""
        buffer = self.h2_conn.incoming_buffer
        if 0 < buffer._preamble_len < _PREFACE_BYTES or buffer._headers_buffer:
            return True
        begun = buffer._data
        return 0 < len(begun) < _FRAME_HEADER_BYTES or (len(begun) > _FRAME_TYPE_AT and begun[_FRAME_TYPE_AT] in _HEADS)

    def _holds_back_more_than(self, most_bytes: int) -> bool:
        held_back = 0
        for chunks in self.h2_conn.stream_buffers.values():
            for chunk in chunks:
                held_back += len(chunk.data) + _CHUNK_COST
                if held_back > most_bytes:
                    return True
        return False
