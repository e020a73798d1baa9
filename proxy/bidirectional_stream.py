"""The stream of a bidirectional streaming call of gRPC or Connect (decision 122): its client waits for answers before
it has sent all messages.

The call is decided with the messages that are there, and forwarded without its end. Later messages are actions of
their own (``addons.later_messages``), decided beside the answer and forwarded in order. A refusal ends both sides.
Other streams pay for one look at an attribute. Extends an internal class of mitmproxy; see ``proxy.layers``.
"""

import time
from collections.abc import Callable
from functools import partial
from traceback import format_exception
from typing import Final

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
from proxy.carrying_stream import CarryingStream
from proxy.commands import Awaited, Commands
from proxy.request_pause import RequestPause, request_pause
from proxy.undecided_messages import UndecidedMessages
from proxy.unsent_bytes import unsent_bytes

_log = structlog.get_logger(__name__)

_REFUSED: Final = "the gate refused a message of the call"
_TRAILERS: Final = "trailers are refused: no policy has seen them"


class BidirectionalStream(CarryingStream):
    """The part of a stream between its first messages and the end of its request."""

    is_bidirectional = False
    _later: UndecidedMessages | None = None
    _unsent_bytes = 0
    _pause: commands.RequestWakeup | None = None
    _handle_before: Callable[[events.Event], Commands[None]]

    def await_pause(self, pause_seconds: float) -> Commands[None]:
        """From the head of a request on: looks whether its client waits for an answer."""
        call = request_pause(self.flow.request, pause_seconds)
        if call is not None:
            self._handle_event = partial(self._handle_paused, call)
            yield self._next_pause(call)

    def is_pause(self, event: events.Wakeup) -> bool:
        return event.command is self._pause

    def _next_pause(self, call: RequestPause) -> commands.RequestWakeup:
        self._pause = commands.RequestWakeup(call.pause_seconds)
        return self._pause

    def _handle_paused(self, call: RequestPause, event: events.Event) -> Commands[None]:
        """In place of ``_handle_event`` until the request has ended, or its first messages are on their way."""
        if not isinstance(event, events.Wakeup):
            yield from super()._handle_event(event)
        elif call.waits(self.request_body_buf):
            yield from self._begin_messages()
        else:
            yield self._next_pause(call)

    def _begin_messages(self) -> Commands[None]:
        """Decides the call with the messages that have arrived, and forwards both."""
        self.is_bidirectional = True
        arrived = bytes(self.request_body_buf)
        self.request_body_buf.clear()
        whole_bytes = whole_messages_bytes(arrived)
        self.flow.request.data.content = arrived[:whole_bytes]
        yield HttpRequestHook(self.flow)
        if (yield from self.check_killed(True)):
            return
        if self.flow.response is None and (overflow := self.overflow_error()) is not None:
            refuse_with(self.flow, overflow)
        if self.flow.response is not None:
            yield from self.answer_early()
            return
        messages = flow_state(self.flow).later_messages
        if messages is None:
            raise RuntimeError("messages follow that nobody decides")
        yield from self._carrying(self.start_request_stream())
        if self.client_state != self.state_stream_request_body:
            return  # the destination could not be reached
        content = self.flow.request.data.content
        if content:
            yield self._with_credential(SendHttp(RequestData(self.stream_id, content), self.context.server))
        self._later = UndecidedMessages(messages, arrived[whole_bytes:])
        flow_state(self.flow).end_later_messages = self._later.end
        self._handle_before = self._handle_event
        self._handle_event = self._handle_messages
        if (overflow := self.overflow_error()) is not None:
            yield from self._refuse(overflow)
        else:
            yield from self._decide_next(self._later)

    def _handle_messages(self, event: events.Event) -> Commands[None]:
        """In place of ``_handle_event`` once the first messages are on their way."""
        later = self._known_later
        if isinstance(event, events.Wakeup):
            yield from self._decided(later)
        else:
            yield from self._handle_before(event)
        yield from self.end_if_answered()
        if self.client_state == self.state_stream_request_body and (overflow := self.overflow_error()) is not None:
            yield from self._refuse(overflow)

    def end_if_answered(self) -> Commands[None]:
        """Sends nothing else to a server that has answered without waiting for more, or whose answer is withheld."""
        if (
            self._later is None
            or self.client_state != self.state_stream_request_body
            or self.server_state != self.state_done
        ):
            return
        self.client_state = self.state_done
        yield SendHttp(RequestProtocolError(self.stream_id, "answered", ErrorCode.CANCEL), self.context.server)
        yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)
        yield from self.linger()

    def state_stream_request_body(self, event: events.Event) -> Commands[None]:
        """In place of mitmproxy's, which forwards what arrives undecided."""
        later = self._known_later
        if isinstance(event, RequestData):
            later.arrived(event.data)
            if self._unsent_bytes:
                self._unsent_bytes = self._unsent()
            error = self._admit_held(later)
            if error is not None:
                yield from self._refuse(error)
                return
        elif isinstance(event, RequestEndOfMessage):
            later.ended()
        else:
            yield from self._refuse(ProtocolRefusedError(_TRAILERS))
            return
        yield from self._decide_next(later)

    def _decide_next(self, later: UndecidedMessages) -> Commands[None]:
        decision = later.next_decision()
        if decision is not None:
            yield Awaited(decision)
        elif later.is_finished:
            self.flow.request.timestamp_end = time.time()
            self.client_state = self.state_done
            yield SendHttp(RequestEndOfMessage(self.stream_id), self.context.server)
            if self.server_state == self.state_done:
                yield from self.flow_done()

    def _decided(self, later: UndecidedMessages) -> Commands[None]:
        if later.is_over or self.client_state != self.state_stream_request_body:
            return  # it has ended meanwhile: what was admitted is recorded as not sent
        batch = later.take()
        if batch.failure is not None or batch.admitted is None:
            yield from self._refuse(batch.failure)
            return
        yield SendHttp(RequestData(self.stream_id, batch.content), self.context.server)
        later.sent(batch)
        before, self._unsent_bytes = self._unsent_bytes, self._unsent()
        freed = batch.size_bytes + before - self._unsent_bytes
        if freed >= 0:
            self.release_bytes(freed)
        elif (error := self._admit_held(later)) is not None:
            yield from self._refuse(error)
            return
        yield from self._decide_next(later)

    def _admit_held(self, later: UndecidedMessages) -> HeadgateError | None:
        """Counts what is held of the request: its first messages, the undecided ones, and what the server does not
        take. Or why that is too much."""
        first = len(self.flow.request.data.content or b"")
        return self.admit_bytes(first + later.size_bytes + self._unsent_bytes)

    def _unsent(self) -> int:
        """Bytes that were forwarded, and that the server has not taken."""
        layers = self.context.layers
        http = layers[layers.index(self) - 1]
        return unsent_bytes(
            http.connections.get(self.context.server) if isinstance(http, HttpLayer) else None, self.stream_id
        )

    @property
    def _known_later(self) -> UndecidedMessages:
        if self._later is None:
            raise RuntimeError("later messages of a call whose first ones are not forwarded")
        return self._later

    def _refuse(self, failure: BaseException | None) -> Commands[None]:
        """Ends both sides. The outcome of the call is unknown, because the server has its first messages. The client
        learns why the call ends, and the hook ends what is undecided."""
        if isinstance(failure, HeadgateError):
            error = as_proxy_refusal(failure)
        else:
            error = UnavailableError("the gate failed while it decided about a message of the call")
            GATE_FAILURES.labels(hook="call_message").inc()
            lines = "no verdict" if failure is None else "".join(format_exception(failure))
            _log.error("gate_failed", hook="call_message", error=repr(failure), traceback=lines)
        yield SendHttp(RequestProtocolError(self.stream_id, _REFUSED, ErrorCode.CANCEL), self.context.server)
        is_unanswered = self.is_collecting or self.server_state == self.state_wait_for_response_headers
        self.flow.error = flows.Error(f"{_REFUSED}: {error.message}")
        yield HttpErrorHook(self.flow)
        if is_unanswered:
            self.release_answer()  # what was collected of it; not the refusal that takes its place
            refuse_with(self.flow, error)
            yield from self.answer_early()
            return
        data, trailers = refusal_at_end(self.flow.request, error)
        if data:
            yield SendHttp(ResponseData(self.stream_id, data), self.context.client)
        if trailers is not None:
            yield SendHttp(ResponseTrailers(self.stream_id, trailers), self.context.client)
        yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)
        self.client_state = self.server_state = self.state_errored
        yield from self.linger()

    def answer_early(self) -> Commands[None]:
        """Answers before the request has ended, with the refusal that the flow has."""
        raise NotImplementedError

    def linger(self) -> Commands[None]:
        """Drops what still comes."""
        raise NotImplementedError

    def admit_bytes(self, size: int) -> HeadgateError | None:
        """Counts ``size`` bytes of the request as held; or why that is too much."""
        raise NotImplementedError

    def release_bytes(self, size: int) -> None:
        """Counts so many bytes less."""
        raise NotImplementedError

    def overflow_error(self) -> HeadgateError | None:
        """Why bytes were dropped that came during a hook, or while the server was connected. None: none were."""
        raise NotImplementedError
