"""The answer of a stream that policies about content look at: collected or cut into pieces, bounded, and forwarded only
after their verdict.

    begin --> collect --> whole, or withheld
      |          +------> passes after its beginning (what is larger or slower than is inspected)
      +----------+------> passes in pieces (``answer_in_pieces``)
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers.http import SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestProtocolError,
    ResponseData,
    ResponseProtocolError,
    ResponseTrailers,
)

from addons.inspection import Inspection
from addons.memory_charge import MemoryCharge
from headgate.gate.candidate_weight import VALUE_BYTES
from headgate.protocols.answer_pieces import Pieces
from headgate.protocols.content_coding import decoded_bytes_max
from headgate.protocols.grpc_answer import MessagePieces
from headgate.protocols.grpc_frames import two_messages_bytes
from proxy.answer_in_pieces import CUT, AnswerInPieces, AnswerPieceHook, measure
from proxy.answer_room import AnswerRoom
from proxy.commands import Commands

if TYPE_CHECKING:
    from proxy.stream import GateStream

_NOBODY_LOOKED: Final = "nobody looked at it"
_VALUE_MIN_BYTES: Final = 3
"""Of JSON text, for a value that is an object in memory: ``[],``."""
_LITTLE_BYTES: Final = 1024
"""Of a slow answer: so little is no beginning to judge by."""


class InspectedAnswer:
    """From the head of an answer to its end. It is held by its stream, and moves that stream's ``server_state``."""

    def __init__(self, stream: "GateStream", inspection: Inspection, charge: MemoryCharge) -> None:
        self._stream = stream
        self._inspection = inspection
        self._room = AnswerRoom(inspection, charge)
        self._deadline: commands.RequestWakeup | None = None
        self._waits_on = False
        self._two_messages_bytes = 0

    def begin(self) -> Commands[None]:
        stream, inspection = self._stream, self._inspection
        if not inspection.is_withheld and inspection.pieces is not None:
            yield AnswerPieceHook(stream.flow)
            if inspection.is_clear:
                yield from stream.pass_answer()
                stream.server_state = self._in_pieces(inspection.pieces).arrived
                return
            if not inspection.is_withheld:
                inspection.withhold(_NOBODY_LOOKED)
        if inspection.is_withheld:
            yield from self._withhold()
            return
        stream.server_state = self.collect
        yield from self._await_end(inspection.patience_seconds)

    @property
    def is_collecting(self) -> bool:
        """Whether the client has seen nothing of it."""
        return bool(self._stream.server_state == self.collect)

    def is_late(self, wakeup: events.Wakeup) -> bool:
        return wakeup.command is self._deadline and self.is_collecting

    def late(self) -> Commands[None]:
        """It did not end by the deadline."""
        inspection = self._inspection
        if inspection.is_in_part and len(self._stream.response_body_buf) < _LITTLE_BYTES and not self._waits_on:
            self._waits_on = True  # else a server could wait, and then send what is not inspected
            yield from self._await_end(max(0.0, inspection.limits.seconds - inspection.patience_seconds))
        elif inspection.is_in_part:
            yield from self._pass_after_beginning()
        else:
            inspection.withhold(f"it did not end within {inspection.limits.seconds:g} seconds")
            yield from self._withhold()

    def release(self) -> bool:
        """At the end of the request, whichever it was. Whether anything was held."""
        return self._room.release()

    def collect(self, event: events.Event) -> Commands[None]:
        """The state of the stream."""
        stream, inspection = self._stream, self._inspection
        if isinstance(event, ResponseData):
            measure(stream.flow, event.data)
            body = stream.response_body_buf
            if not self._room.holds(len(body) + len(event.data), in_part=inspection.is_in_part):
                yield from self._withhold()
                return
            body += event.data
            if inspection.may_be_messages and self._has_two_messages():
                yield from self._pass_in_messages()
            elif inspection.is_in_part and len(body) > inspection.limits.beginning:
                yield from self._pass_after_beginning()
        elif stream.flow.response is None:
            raise RuntimeError("an answer without a head")
        elif isinstance(event, ResponseTrailers):
            stream.flow.response.trailers = event.trailers
        else:
            content = bytes(stream.response_body_buf)
            if not self._room.reserves(_weight(content, inspection, inspection.limits.body)):
                yield from self._withhold()
                return
            stream.flow.response.data.content = content
            stream.response_body_buf.clear()
            yield from stream.send_response()

    def _await_end(self, seconds: float) -> Commands[None]:
        self._deadline = commands.RequestWakeup(seconds)
        yield self._deadline

    def _pass_after_beginning(self) -> Commands[None]:
        """What is larger or slower than it is inspected: the rest passes as it comes."""
        stream, inspection = self._stream, self._inspection
        beginning = bytes(stream.response_body_buf)
        if self._room.reserves(_weight(beginning, inspection, inspection.limits.beginning)):
            inspection.collected(beginning)
            yield AnswerPieceHook(stream.flow)
        if not inspection.is_clear:
            yield from self._withhold()
            return
        stream.response_body_buf.clear()
        yield from stream.pass_answer()
        if beginning:
            yield SendHttp(ResponseData(stream.stream_id, beginning), stream.context.client)
        self._room.reserves(0)

    def _has_two_messages(self) -> bool:
        """Reads the lengths again only when as much has come as they say: each look copies what is collected."""
        body = self._stream.response_body_buf
        if len(body) >= self._two_messages_bytes:
            self._two_messages_bytes = two_messages_bytes(bytes(body))
        return len(body) >= self._two_messages_bytes

    def _pass_in_messages(self) -> Commands[None]:
        """The second message has come: the answer is a stream."""
        stream = self._stream
        answer = self._in_pieces(self._inspection.go_on_in_messages(bytes(stream.response_body_buf)))
        yield AnswerPieceHook(stream.flow)
        if not self._inspection.is_clear:
            yield from self._withhold()
            return
        stream.response_body_buf.clear()
        yield from stream.pass_answer()
        stream.server_state = answer.arrived
        yield from answer.forward()

    def _in_pieces(self, pieces: Pieces | MessagePieces) -> AnswerInPieces:
        return AnswerInPieces(self._stream, self._inspection, self._room, pieces)

    def _withhold(self) -> Commands[None]:
        """Before the client has seen anything: it gets the refusal, and what still comes is not fetched."""
        stream = self._stream
        stream.response_body_buf.clear()
        yield SendHttp(RequestProtocolError(stream.stream_id, CUT, ErrorCode.CANCEL), stream.context.server)
        yield from stream.send_response()


def without_quotes(inner: Commands[bool], stream_id: int) -> Generator[commands.Command, None, bool]:
    """``check_invalid`` of mitmproxy, whose error quotes the field that is wrong. Nobody has inspected it."""
    while True:
        try:
            command = next(inner)
        except StopIteration as end:
            return bool(end.value)
        if isinstance(command, SendHttp) and isinstance(command.event, ResponseProtocolError):
            error = ResponseProtocolError(stream_id, "a header field is not valid", command.event.code)
            command = SendHttp(error, command.connection)
        yield command


def _weight(content: bytes, inspection: Inspection, most_decoded: int) -> int:
    """Bytes of memory, about, that a whole answer, or its beginning, takes while it is read: itself, and its values as
    objects. ``most_decoded``: what is read of a coded one."""
    if inspection.is_coded:
        decoded = decoded_bytes_max(len(content), most_decoded)
        return len(content) + decoded + VALUE_BYTES * (decoded // _VALUE_MIN_BYTES)
    return len(content) + VALUE_BYTES * content.count(b",")
