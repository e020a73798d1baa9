"""A bidirectional streaming call of gRPC or Connect (decision 122): its client waits for answers before it has sent all
messages.

The call is decided with the messages that are there, and forwarded without its end. Later messages are actions of
their own (``addons.later_messages``), decided beside the answer and forwarded in order. A refusal ends both sides.
"""

import time
from traceback import format_exception
from typing import TYPE_CHECKING, Final

import structlog
from mitmproxy import flow as flows
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers.http import HttpLayer, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseTrailers,
)
from mitmproxy.proxy.layers.http._hooks import HttpErrorHook, HttpRequestHook

from addons.grpc_refusal import refusal_at_end
from addons.identify import as_proxy_refusal
from addons.metrics import GATE_FAILURES
from addons.refuse import refuse_with
from addons.verdict import flow_state
from headgate.kernel.errors import HeadgateError, ProtocolRefusedError, UnavailableError
from headgate.protocols.grpc_frames import whole_messages_bytes
from proxy.commands import Awaited, Commands
from proxy.request_pause import RequestPause
from proxy.stream_phase import Phase
from proxy.undecided_messages import UndecidedMessages
from proxy.unsent_bytes import unsent_bytes

if TYPE_CHECKING:
    from proxy.stream import GateStream

_log = structlog.get_logger(__name__)

_REFUSED: Final = "the gate refused a message of the call"
_TRAILERS: Final = "trailers are refused: no policy has seen them"


class BidirectionalCall:
    """What one stream does while it is LOOKING or FORWARDING. It is held by that stream, and moves its states."""

    def __init__(self, stream: "GateStream", pause: RequestPause) -> None:
        self._stream = stream
        self._pause = pause
        self._timer: commands.RequestWakeup | None = None
        self._undecided: UndecidedMessages | None = None
        self._unsent_bytes = 0

    def await_pause(self) -> Commands[None]:
        self._timer = commands.RequestWakeup(self._pause.pause_seconds)
        yield self._timer

    def is_pause(self, wakeup: events.Wakeup) -> bool:
        return wakeup.command is self._timer

    def look(self) -> Commands[None]:
        """After a pause: whether the client waits for an answer."""
        if self._pause.waits(self._stream.request_body_buf):
            yield from self._begin()
        else:
            yield from self.await_pause()

    def _begin(self) -> Commands[None]:
        """Decides the call with the messages that have arrived, and forwards both."""
        stream, flow = self._stream, self._stream.flow
        stream.is_bidirectional = True
        arrived = bytes(stream.request_body_buf)
        stream.request_body_buf.clear()
        whole_bytes = whole_messages_bytes(arrived)
        flow.request.data.content = arrived[:whole_bytes]
        yield HttpRequestHook(flow)
        if (yield from stream.check_killed(True)):
            return
        if flow.response is None and stream.room.overflow is not None:
            refuse_with(flow, stream.room.overflow)
        if flow.response is not None:
            yield from stream.answer_early()
            return
        later_messages = flow_state(flow).later_messages
        if later_messages is None:
            raise RuntimeError("nothing decides about the later messages of the call")
        yield from stream.sent_with_credential(stream.start_request_stream())
        if stream.client_state != stream.state_stream_request_body:
            return  # the destination could not be reached
        content = flow.request.data.content
        if content:
            yield stream.with_credential(SendHttp(RequestData(stream.stream_id, content), stream.context.server))
        self._undecided = undecided = UndecidedMessages(later_messages, arrived[whole_bytes:])
        flow_state(flow).end_later_messages = undecided.end
        stream.enter(Phase.FORWARDING)
        if stream.room.overflow is not None:
            yield from self._refuse(stream.room.overflow)
        else:
            yield from self._decide_next(undecided)

    def arrived(self, event: events.Event) -> Commands[None]:
        """Of the request, once its first messages are on their way."""
        undecided = self._known_undecided
        if isinstance(event, RequestData):
            undecided.arrived(event.data)
            if self._unsent_bytes:
                self._unsent_bytes = self._unsent()
            error = self._admit_held(undecided)
            if error is not None:
                yield from self._refuse(error)
                return
        elif isinstance(event, RequestEndOfMessage):
            undecided.ended()
        else:
            yield from self._refuse(ProtocolRefusedError(_TRAILERS))
            return
        yield from self._decide_next(undecided)

    def decided(self) -> Commands[None]:
        """Forwards what was decided, or refuses it."""
        undecided = self._known_undecided
        if undecided.is_over or not self._is_forwarding:
            return  # it has ended meanwhile: what was admitted is recorded as not sent
        batch = undecided.take()
        if batch.failure is not None or batch.admitted is None:
            yield from self._refuse(batch.failure)
            return
        yield SendHttp(RequestData(self._stream.stream_id, batch.content), self._stream.context.server)
        undecided.sent(batch)
        before, self._unsent_bytes = self._unsent_bytes, self._unsent()
        freed = batch.size_bytes + before - self._unsent_bytes
        if freed >= 0:
            self._stream.room.release(freed)
        elif (error := self._admit_held(undecided)) is not None:
            yield from self._refuse(error)
            return
        yield from self._decide_next(undecided)

    def settle(self) -> Commands[None]:
        """After each event. Sends nothing else to a server that has answered without waiting for more, or whose answer
        is withheld; and refuses what was dropped during a hook."""
        stream = self._stream
        if not self._is_forwarding:
            return
        if stream.server_state == stream.state_done:
            stream.client_state = stream.state_done
            yield SendHttp(RequestProtocolError(stream.stream_id, "answered", ErrorCode.CANCEL), stream.context.server)
            yield SendHttp(ResponseEndOfMessage(stream.stream_id), stream.context.client)
            yield from stream.linger()
        elif stream.room.overflow is not None:
            yield from self._refuse(stream.room.overflow)

    @property
    def _is_forwarding(self) -> bool:
        """Whether the server may get more messages, or the end of them."""
        return bool(self._stream.client_state == self._stream.state_stream_request_body)

    def _decide_next(self, undecided: UndecidedMessages) -> Commands[None]:
        stream = self._stream
        decision = undecided.next_decision()
        if decision is not None:
            yield Awaited(decision)
        elif undecided.is_finished:
            stream.flow.request.timestamp_end = time.time()
            stream.client_state = stream.state_done
            yield SendHttp(RequestEndOfMessage(stream.stream_id), stream.context.server)
            if stream.server_state == stream.state_done:
                yield from stream.flow_done()

    def _admit_held(self, undecided: UndecidedMessages) -> HeadgateError | None:
        """Counts what is held of the request: its first messages, the undecided ones, and what the server does not
        take. Or why that is too much."""
        first = len(self._stream.flow.request.data.content or b"")
        return self._stream.room.admit(first + undecided.size_bytes + self._unsent_bytes)

    def _unsent(self) -> int:
        """Bytes that were forwarded, and that the server has not taken."""
        context = self._stream.context
        http = context.layers[context.layers.index(self._stream) - 1]
        connection = http.connections.get(context.server) if isinstance(http, HttpLayer) else None
        return unsent_bytes(connection, self._stream.stream_id)

    @property
    def _known_undecided(self) -> UndecidedMessages:
        if self._undecided is None:
            raise RuntimeError("later messages of a call whose first ones are not forwarded")
        return self._undecided

    def _refuse(self, failure: BaseException | None) -> Commands[None]:
        """Ends both sides. The outcome of the call is unknown, because the server has its first messages. The client
        learns why the call ends, and the hook ends what is undecided."""
        stream, stream_id, client = self._stream, self._stream.stream_id, self._stream.context.client
        error = _refusal_of(failure)
        yield SendHttp(RequestProtocolError(stream_id, _REFUSED, ErrorCode.CANCEL), stream.context.server)
        is_unanswered = stream.is_unanswered
        stream.flow.error = flows.Error(f"{_REFUSED}: {error.message}")
        yield HttpErrorHook(stream.flow)
        if is_unanswered:
            stream.release_answer()  # what was collected of it; not the refusal that takes its place
            refuse_with(stream.flow, error)
            yield from stream.answer_early()
            return
        data, trailers = refusal_at_end(stream.flow.request, error)
        if data:
            yield SendHttp(ResponseData(stream_id, data), client)
        if trailers is not None:
            yield SendHttp(ResponseTrailers(stream_id, trailers), client)
        yield SendHttp(ResponseEndOfMessage(stream_id), client)
        stream.client_state = stream.server_state = stream.state_errored
        yield from stream.linger()


def _refusal_of(failure: BaseException | None) -> HeadgateError:
    """What the client learns. A failure of the gate is counted, and logged."""
    if isinstance(failure, HeadgateError):
        return as_proxy_refusal(failure)
    GATE_FAILURES.labels(hook="call_message").inc()
    lines = "no verdict" if failure is None else "".join(format_exception(failure))
    _log.error("gate_failed", hook="call_message", error=repr(failure), traceback=lines)
    return UnavailableError("the gate failed while it decided about a message of the call")
