"""The answer of a stream that policies about content look at: collected or cut into pieces, bounded, and forwarded only
after their verdict.

Answers that nobody inspects go mitmproxy's way; they pay for one look at an attribute. Extends an internal class of
mitmproxy; see ``proxy.layers``.
"""

from dataclasses import dataclass
from typing import Final

from mitmproxy.http import Headers, HTTPFlow, Response
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import DropStream, HttpStream, SendHttp
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
from addons.verdict import client_state, flow_state
from headgate.gate.candidate_weight import VALUE_BYTES
from headgate.protocols.answer_pieces import Pieces
from headgate.protocols.content_coding import decoded_bytes_max
from headgate.protocols.grpc_answer import MessagePieces
from headgate.protocols.grpc_frames import two_messages_bytes
from proxy.budget import BufferBudget
from proxy.commands import Commands

_NO_ROOM: Final = "the gate holds as much of other bodies as it may"
_NOBODY_LOOKED: Final = "nobody looked at it"
_VALUE_MIN_BYTES: Final = 3
"""Of JSON text, for a value that is an object in memory: ``[],``."""
_LITTLE_BYTES: Final = 1024
"""Of a slow answer: so little is no beginning to judge by."""
_CUT: Final = "the rest of the answer is withheld"


def _weight(content: bytes, inspection: Inspection, most_decoded: int) -> int:
    """Bytes of memory, about, that a whole answer, or its beginning, takes while it is read: itself, and its values as
    objects. ``most_decoded``: what is read of a coded one."""
    if inspection.is_coded:
        decoded = decoded_bytes_max(len(content), most_decoded)
        return len(content) + decoded + VALUE_BYTES * (decoded // _VALUE_MIN_BYTES)
    return len(content) + VALUE_BYTES * content.count(b",")


@dataclass
class AnswerPieceHook(commands.StartHook):
    """A stretch of a stream, or its head before, is to be inspected."""

    name = "answer_piece"
    flow: HTTPFlow


class InspectedAnswer(HttpStream):
    """The part of a stream between the head of an answer and its end, where somebody inspects it."""

    def __init__(self, context: Context, stream_id: int, budget: BufferBudget) -> None:
        super().__init__(context, stream_id)
        self._budget = budget
        self._answer_reserved = 0
        self._answer_deadline: commands.RequestWakeup | None = None
        self._waits_on = False
        self._two_messages_bytes = 0

    def start_response_stream(self) -> Commands[None]:
        inspection = flow_state(self.flow).inspection
        return super().start_response_stream() if inspection is None else self._inspect(inspection)

    def check_invalid(self, request: bool) -> Commands[bool]:
        if request or flow_state(self.flow).inspection is None:
            return super().check_invalid(request)
        return self._check_invalid_unquoted()

    def _check_invalid_unquoted(self) -> Commands[bool]:
        """mitmproxy's error quotes the field that is wrong, which nobody has inspected."""
        generator = super().check_invalid(False)
        while True:
            try:
                command = next(generator)
            except StopIteration as end:
                return bool(end.value)
            if isinstance(command, SendHttp) and isinstance(command.event, ResponseProtocolError):
                error = ResponseProtocolError(self.stream_id, "a header field is not valid", command.event.code)
                command = SendHttp(error, command.connection)
            yield command

    def watch_answer(self) -> None:
        """From now on there is a deadline, and something to give back at the end."""
        raise NotImplementedError

    def release_answer(self) -> None:
        """At the end of the request, whichever it was."""
        if self._answer_reserved:
            self._budget.release(client_state(self.context.client), self._answer_reserved)
            self._answer_reserved = 0
            if self.flow.response is not None:
                self.flow.response.data.content = None  # as for requests: it would wait for the garbage collector
        self.response_body_buf.clear()

    @property
    def is_collecting(self) -> bool:
        """Whether an answer has begun of which the client has seen nothing."""
        return bool(self.server_state == self.state_collect)

    def answer_is_late(self, event: events.Wakeup) -> bool:
        return bool(event.command is self._answer_deadline)

    def withhold_late_answer(self) -> Commands[None]:
        if self.is_collecting and self._paused is None:
            inspection = self._inspection
            if inspection.is_in_part and len(self.response_body_buf) < _LITTLE_BYTES and not self._waits_on:
                self._waits_on = True  # else a server could wait, and then send what is not inspected
                seconds = inspection.limits.seconds - inspection.patience_seconds
                self._answer_deadline = commands.RequestWakeup(max(0.0, seconds))
                yield self._answer_deadline
                return
            if inspection.is_in_part:
                yield from self._pass_after_beginning()
                return
            inspection.withhold(f"it did not end within {inspection.limits.seconds:g} seconds")
            yield from self._withhold()

    def _inspect(self, inspection: Inspection) -> Commands[None]:
        self.watch_answer()
        if not inspection.is_withheld and inspection.pieces is not None:
            yield AnswerPieceHook(self.flow)
            if inspection.is_clear:
                yield from super().start_response_stream()
                self.server_state = self.state_inspect_pieces
                return
            if not inspection.is_withheld:
                inspection.withhold(_NOBODY_LOOKED)
        if inspection.is_withheld:
            yield from self._withhold()
            return
        self.server_state = self.state_collect
        self._answer_deadline = commands.RequestWakeup(inspection.patience_seconds)
        yield self._answer_deadline

    def state_collect(self, event: events.Event) -> Commands[None]:
        response = self._response
        if isinstance(event, ResponseData):
            self._measure(event.data)
            if self._holds(len(self.response_body_buf) + len(event.data)):
                self.response_body_buf += event.data
                if self._inspection.may_be_messages and self._has_two_messages():
                    yield from self._pass_in_messages()
                elif self._inspection.is_in_part and len(self.response_body_buf) > self._inspection.limits.beginning:
                    yield from self._pass_after_beginning()
            else:
                yield from self._withhold()
        elif isinstance(event, ResponseTrailers):
            response.trailers = event.trailers
        else:
            content = bytes(self.response_body_buf)
            if not self._reserves(_weight(content, self._inspection, self._inspection.limits.body)):
                yield from self._withhold()
                return
            response.data.content = content
            self.response_body_buf.clear()
            yield from self.send_response()

    def _pass_after_beginning(self) -> Commands[None]:
        """What is larger or slower than it is inspected: the rest passes as it comes."""
        beginning = bytes(self.response_body_buf)
        inspection = self._inspection
        if self._reserves(_weight(beginning, inspection, inspection.limits.beginning)):
            inspection.collected(beginning)
            yield AnswerPieceHook(self.flow)
        if not self._inspection.is_clear:
            yield from self._withhold()
            return
        self.response_body_buf.clear()
        yield from super().start_response_stream()
        if beginning:
            yield SendHttp(ResponseData(self.stream_id, beginning), self.context.client)
        self._reserves(0)

    def _has_two_messages(self) -> bool:
        """Reads the lengths again only when as much has come as they say: each look copies what is collected."""
        if len(self.response_body_buf) >= self._two_messages_bytes:
            self._two_messages_bytes = two_messages_bytes(bytes(self.response_body_buf))
        return len(self.response_body_buf) >= self._two_messages_bytes

    def _pass_in_messages(self) -> Commands[None]:
        """The second message has come: the answer is a stream."""
        pieces = self._inspection.go_on_in_messages(bytes(self.response_body_buf))
        yield AnswerPieceHook(self.flow)
        if not self._inspection.is_clear:
            yield from self._withhold()
            return
        self.response_body_buf.clear()
        yield from super().start_response_stream()
        self.server_state = self.state_inspect_pieces
        yield from self._forward(pieces)

    def state_inspect_pieces(self, event: events.Event) -> Commands[None]:
        """Trailers of events and lines are not forwarded (RFC 9110, 6.5.1, lets them be dropped): their stream has
        passed by then. Those of messages say how the call ended."""
        pieces = self._inspection.pieces
        if pieces is None:
            return
        if isinstance(event, ResponseTrailers):
            if isinstance(pieces, MessagePieces):
                yield from self._end_with(pieces, event.trailers)
            return
        if isinstance(event, ResponseData):
            self._measure(event.data)
            pieces.feed(event.data)
            if self._holds(len(pieces)):
                yield from self._forward(pieces)
            else:
                yield from self._cut()
        else:
            pieces.finish()
            yield from self._forward(pieces)
            if self._inspection.is_clear:
                yield from self.send_response(already_streamed=True)

    def _end_with(self, pieces: MessagePieces, trailers: Headers) -> Commands[None]:
        pieces.finish()
        yield from self._forward(pieces)
        if self.server_state == self.state_errored:
            return  # a message was withheld
        self._inspection.ended_with(trailers)
        yield AnswerPieceHook(self.flow)
        if self._inspection.is_clear:
            self._response.trailers = trailers
        else:
            yield from self._cut()

    def _forward(self, pieces: Pieces | MessagePieces) -> Commands[None]:
        """All that is whole, once it has been looked at. One look is at 1,000 messages, or 4 MiB, at most."""
        while pieces.ready:
            yield AnswerPieceHook(self.flow)
            if not self._inspection.is_clear:
                yield from self._cut()
                return
            cleared = self._inspection.take_cleared()
            if not cleared:
                return
            yield SendHttp(ResponseData(self.stream_id, cleared), self.context.client)
            self._holds(len(pieces))

    def _withhold(self) -> Commands[None]:
        """Before the client has seen anything: it gets the refusal, and what still comes is not fetched."""
        self.response_body_buf.clear()
        yield SendHttp(RequestProtocolError(self.stream_id, _CUT, ErrorCode.CANCEL), self.context.server)
        yield from self.send_response()

    def _cut(self) -> Commands[None]:
        """In the middle of a stream: its last words say why, and it does not end as a whole answer does. With HTTP/1,
        mitmproxy writes no trailers, and the status of gRPC is left out."""
        yield SendHttp(RequestProtocolError(self.stream_id, _CUT, ErrorCode.CANCEL), self.context.server)
        data, trailers = self._inspection.last_words()
        if data:
            yield SendHttp(ResponseData(self.stream_id, data), self.context.client)
        yield HttpResponseHook(self.flow)
        if trailers is not None and self.context.client.alpn == b"h2":
            yield SendHttp(ResponseTrailers(self.stream_id, trailers), self.context.client)
        elif trailers is None and isinstance(self._inspection.pieces, MessagePieces):
            yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)
        else:
            yield SendHttp(ResponseProtocolError(self.stream_id, _CUT, ErrorCode.CANCEL), self.context.client)
        self.client_state = self.server_state = self.state_errored
        self.flow.live = False
        yield DropStream(self.stream_id)

    def _holds(self, size: int) -> bool:
        """Whether there is room to hold so much of the answer; where not, it is withheld."""
        inspection = self._inspection
        if size > inspection.limits.body and not (self.is_collecting and inspection.is_in_part):
            inspection.withhold(f"it is larger than the {inspection.limits.body} bytes that are inspected")
            return False
        return self._reserves(size)

    def _reserves(self, size: int) -> bool:
        client = client_state(self.context.client)
        if size <= self._answer_reserved:
            self._budget.release(client, self._answer_reserved - size)
        elif not self._budget.reserve(client, size - self._answer_reserved):
            self._inspection.withhold(_NO_ROOM)
            return False
        self._answer_reserved = size
        return not self._inspection.is_withheld

    def _measure(self, data: bytes) -> None:
        meter = self._response.stream
        if callable(meter):
            meter(data)

    @property
    def _inspection(self) -> Inspection:
        inspection = flow_state(self.flow).inspection
        if inspection is None:
            raise RuntimeError("nobody inspects this answer")
        return inspection

    @property
    def _response(self) -> Response:
        if self.flow.response is None:
            raise RuntimeError("an answer without a head")
        return self.flow.response
