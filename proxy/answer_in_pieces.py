"""An inspected answer that passes piece by piece: events, lines, or messages of gRPC and Connect. Each stretch of whole
pieces is looked at before the client sees it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mitmproxy.http import Headers, HTTPFlow
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers.http import DropStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseProtocolError,
    ResponseTrailers,
)
from mitmproxy.proxy.layers.http._hooks import HttpResponseHook

from addons.inspection import Inspection
from headgate.protocols.answer_pieces import Pieces
from headgate.protocols.grpc_answer import MessagePieces
from proxy.answer_room import AnswerRoom
from proxy.commands import Commands

if TYPE_CHECKING:
    from proxy.stream import GateStream

CUT: Final = "the rest of the answer is withheld"


@dataclass
class AnswerPieceHook(commands.StartHook):
    """A stretch of a stream, or its head before, is to be inspected."""

    name = "answer_piece"
    flow: HTTPFlow


class AnswerInPieces:
    """From the first piece to the end. ``arrived`` is the state of the stream that holds it."""

    def __init__(
        self, stream: "GateStream", inspection: Inspection, room: AnswerRoom, pieces: Pieces | MessagePieces
    ) -> None:
        self._stream = stream
        self._inspection = inspection
        self._room = room
        self._pieces = pieces

    def arrived(self, event: events.Event) -> Commands[None]:
        """Trailers of events and lines are not forwarded (RFC 9110, 6.5.1, lets them be dropped): their stream has
        passed by then. Those of messages say how the call ended."""
        pieces = self._pieces
        if isinstance(event, ResponseTrailers):
            if isinstance(pieces, MessagePieces):
                yield from self._end_with(event.trailers)
            return
        if isinstance(event, ResponseData):
            measure(self._stream.flow, event.data)
            pieces.feed(event.data)
            if self._room.holds(len(pieces)):
                yield from self.forward()
            else:
                yield from self._cut()
        else:
            pieces.finish()
            yield from self.forward()
            if self._inspection.is_clear:
                yield from self._stream.send_response(already_streamed=True)

    def forward(self) -> Commands[None]:
        """All that is whole, once it has been looked at. One look is at 1,000 messages, or 4 MiB, at most."""
        stream = self._stream
        while self._pieces.ready:
            yield AnswerPieceHook(stream.flow)
            if not self._inspection.is_clear:
                yield from self._cut()
                return
            cleared = self._inspection.take_cleared()
            if not cleared:
                return
            yield SendHttp(ResponseData(stream.stream_id, cleared), stream.context.client)
            self._room.holds(len(self._pieces))

    def _end_with(self, trailers: Headers) -> Commands[None]:
        stream = self._stream
        self._pieces.finish()
        yield from self.forward()
        if stream.server_state == stream.state_errored:
            return  # a message was withheld
        self._inspection.ended_with(trailers)
        yield AnswerPieceHook(stream.flow)
        if not self._inspection.is_clear:
            yield from self._cut()
        elif stream.flow.response is not None:
            stream.flow.response.trailers = trailers

    def _cut(self) -> Commands[None]:
        """In the middle of a stream: its last words say why, and it does not end as a whole answer does. With HTTP/1,
        mitmproxy writes no trailers, and the status of gRPC is left out."""
        stream, stream_id, client = self._stream, self._stream.stream_id, self._stream.context.client
        yield SendHttp(RequestProtocolError(stream_id, CUT, ErrorCode.CANCEL), stream.context.server)
        data, trailers = self._inspection.last_words()
        if data:
            yield SendHttp(ResponseData(stream_id, data), client)
        yield HttpResponseHook(stream.flow)
        if trailers is not None and client.alpn == b"h2":
            yield SendHttp(ResponseTrailers(stream_id, trailers), client)
        elif trailers is None and isinstance(self._pieces, MessagePieces):
            yield SendHttp(ResponseEndOfMessage(stream_id), client)
        else:
            yield SendHttp(ResponseProtocolError(stream_id, CUT, ErrorCode.CANCEL), client)
        stream.client_state = stream.server_state = stream.state_errored
        stream.flow.live = False
        yield DropStream(stream_id)


def measure(flow: HTTPFlow, data: bytes) -> None:
    """mitmproxy's own stream would: the meter counts what arrives."""
    meter = None if flow.response is None else flow.response.stream
    if callable(meter):
        meter(data)
