"""One request and its response, closed where mitmproxy is open: bodies are bounded, an upload has a deadline, errors
say why, and nothing is written upstream for a request that was not lifted.

Extends an internal class of mitmproxy; see ``proxy.layers``.
"""

from typing import Any, Final

from mitmproxy.http import Response
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import DropStream, HTTPMode, HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import HttpConnectHook, HttpRequestHeadersHook, HttpResponseHook

from addons.limits import RequestLimits
from addons.memory_charge import MemoryCharge
from addons.refuse import refuse_with
from addons.verdict import LATCH, client_state, flow_state, has_state, open_flow
from headgate.kernel.errors import ValidationError
from headgate.protocols.coded_stream import UndecodableError
from proxy.bidirectional_call import BidirectionalCall
from proxy.budget import BufferBudget
from proxy.carrying_request import carrying
from proxy.client_certificate import showing
from proxy.commands import Awaited, Commands, TunnelOpened
from proxy.extended_connect import SWITCHED, came_over_http2, not_opened
from proxy.failed_answer import failed_answer
from proxy.inspected_answer import InspectedAnswer, without_quotes
from proxy.kept_alive import EVERY_SECONDS, FIRST_SECONDS, KeptAlive, may_wait
from proxy.masked_answer import UNREADABLE, MaskedAnswer
from proxy.request_pause import request_pause
from proxy.request_room import RequestRoom
from proxy.stream_phase import Phase, step
from proxy.websocket import GateWebsocket

LINGER_SECONDS: Final = 5.0
"""How long the rest of a refused upload is read and dropped, so that its sender sees the answer instead of a
reset connection (RFC 9112, 9.6)."""


class GateStream(HttpStream):
    """One request and its response. What few streams have is held by them: a bidirectional call, an answer that is
    inspected, the answer of a call that carries a credential."""

    is_bidirectional = False
    _phase = Phase.COLLECTING
    _call: BidirectionalCall | None = None
    _inspected: InspectedAnswer | None = None
    _masked: MaskedAnswer | None = None

    def __init__(self, context: Context, stream_id: int, limits: RequestLimits, budget: BufferBudget) -> None:
        super().__init__(context, stream_id)
        self._limits = limits
        self._budget = budget
        self.abandoned = False
        self._keep_alive: commands.RequestWakeup | None = None
        self._kept_alive: KeptAlive | None = None
        self.room = RequestRoom(self, limits.body, budget)
        self._paused_event_queue = self.room  # type: ignore[assignment] # declared as a deque

    def state_wait_for_request_headers(self, event: RequestHeaders) -> Commands[None]:
        regular = self.mode is HTTPMode.regular
        origin_form = regular and not event.request.data.host
        inner = super().state_wait_for_request_headers(event)
        reply: Any = None
        while True:
            try:
                command = inner.send(reply)
            except StopIteration:
                break
            opens = isinstance(command, HttpRequestHeadersHook | HttpConnectHook)
            if opens:
                open_flow(self.flow, self, origin_form=origin_form, tunnelled=not regular)
            reply = yield command
            if opens and flow_state(self.flow).refusal is not None:
                # Never ask for a body (100 Continue) that is refused already.
                self.flow.request.headers.pop("expect", None)
        if self.client_state == self.state_consume_request_body and not event.end_stream:
            if self.room.overflow is not None:
                refuse_with(self.flow, self.room.overflow)
            if flow_state(self.flow).refusal is not None:
                yield from self.answer_early()
            elif not any(isinstance(queued, RequestEndOfMessage) for queued in self._paused_event_queue):
                # Uploads that stall would keep others out of the budget.
                self.watch()
                yield commands.RequestWakeup(self._limits.upload_seconds)
                pause = request_pause(self.flow.request, self._limits.pause_seconds)
                if pause is not None:
                    self._call = BidirectionalCall(self, pause)
                    self.enter(Phase.LOOKING)
                    yield from self._call.await_pause()

    def state_consume_request_body(self, event: events.Event) -> Commands[None]:
        if not isinstance(event, RequestEndOfMessage):
            yield from super().state_consume_request_body(event)
            return
        if may_wait(self.flow.request):
            self.watch()
            self._keep_alive = commands.RequestWakeup(FIRST_SECONDS)
            yield self._keep_alive
        yield from self.sent_with_credential(super().state_consume_request_body(event))

    def state_stream_request_body(self, event: events.Event) -> Commands[None]:
        """In place of mitmproxy's, which forwards what arrives undecided."""
        return self._known_call.arrived(event)

    def sent_with_credential(self, inner: Commands[None]) -> Commands[None]:
        """``inner``, with the credential in what it sends to the server."""
        reply: object = None
        while True:
            try:
                command = inner.send(reply)
            except StopIteration:
                return
            if isinstance(command, SendHttp):
                command = self.with_credential(command)
            reply = yield command

    def with_credential(self, command: SendHttp) -> SendHttp:
        state = flow_state(self.flow)
        if state.outgoing is None or command.connection is not self.context.server or not state.sent_upstream:
            return command
        if isinstance(command.event, RequestHeaders) and state.echoes is not None:
            self._masked = MaskedAnswer(
                state.echoes,
                self.stream_id,
                self.flow.request.data.method,
                is_http2=self.context.client.alpn == b"h2",
                is_in_messages=state.later_messages is not None,
            )
            self._handle_event = self._handle_own
        return SendHttp(carrying(command.event, self.flow.request, state.outgoing), command.connection)

    def start_response_stream(self) -> Commands[None]:
        inspection = flow_state(self.flow).inspection
        if inspection is None:
            return super().start_response_stream()
        self.watch()
        charge = MemoryCharge(self._budget, client_state(self.context.client))
        self._inspected = InspectedAnswer(self, inspection, charge)
        return self._inspected.begin()

    def pass_answer(self) -> Commands[None]:
        """From here on the answer passes as it comes, as mitmproxy has it."""
        return super().start_response_stream()

    def check_invalid(self, request: bool) -> Commands[bool]:
        checked = super().check_invalid(request)
        if request:
            return checked
        if flow_state(self.flow).inspection is not None:
            checked = without_quotes(checked, self.stream_id)
        response = self.flow.response
        over_http2 = self.context.client.alpn == b"h2"
        is_switch = over_http2 and response is not None and response.status_code == SWITCHED
        return self._check_opening(checked) if is_switch or self._is_http2_socket else checked

    @property
    def _is_http2_socket(self) -> bool:
        return came_over_http2(self.flow.request, self.context.client)

    def _check_opening(self, checked: Commands[bool]) -> Commands[bool]:
        if (yield from checked):
            return True
        if self.flow.response is None:
            raise RuntimeError("an answer without a head")
        why: str | None = "the server switched to another protocol, which nobody asked for"
        if self._is_http2_socket:
            why = not_opened(self.flow.request, self.flow.response)
        if why is None:
            return False
        yield SendHttp(RequestProtocolError(self.stream_id, why, ErrorCode.CANCEL), self.context.server)
        yield from self.handle_protocol_error(
            ResponseProtocolError(self.stream_id, why, ErrorCode.GENERIC_SERVER_ERROR)
        )
        return True

    def release_answer(self) -> None:
        """What was collected of it."""
        if self._inspected is not None and self._inspected.release() and self.flow.response is not None:
            self.flow.response.data.content = None  # as for requests: it would wait for the garbage collector
        self.response_body_buf.clear()

    def flow_done(self) -> Commands[None]:
        """As mitmproxy does it, with the gate's own layer of a WebSocket."""
        over_http2 = self._is_http2_socket
        state = flow_state(self.flow)
        if not self.flow.websocket:
            yield from super().flow_done()
            if over_http2 and state.sent_upstream:
                yield self._end_of_server()  # nobody else may use the connection
            return
        if state.socket is None:
            self.client_state = self.server_state = self.state_errored
            yield commands.CloseConnection(self.context.server)
            if over_http2:
                error = ResponseProtocolError(self.stream_id, "nobody decides about its messages", ErrorCode.KILL)
                yield SendHttp(error, self.context.client)
                self.flow.live = False
                yield DropStream(self.stream_id)
            else:
                yield commands.CloseConnection(self.context.client)
            return
        state.socket.echoes = state.echoes
        self.child_layer = GateWebsocket(self.context, self.flow, state.socket, self._budget)
        self._handle_event = self.passthrough
        yield from self.child_layer.handle_event(events.Start())
        if not over_http2:  # where it would end the client's stream
            yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)

    def check_killed(self, emit_error_hook: bool) -> Commands[bool]:
        killed = super().check_killed(emit_error_hook)
        return self._ending_server(killed) if self._is_http2_socket else killed

    def _ending_server(self, killed: Commands[bool]) -> Commands[bool]:
        is_killed = yield from killed
        if is_killed and flow_state(self.flow).sent_upstream:
            yield self._end_of_server()  # the client's connection, whose end would do it, goes on
        return is_killed

    def _end_of_server(self) -> SendHttp:
        return SendHttp(RequestProtocolError(self.stream_id, "done", ErrorCode.CANCEL), self.context.server)

    def passthrough(self, event: events.Event) -> Commands[None]:
        """Over HTTP/2 a WebSocket is one of many streams: its client may reset it (RFC 8441, 5.1); it ends alone."""
        if not (self.flow.websocket and self._is_http2_socket):
            yield from super().passthrough(event)
            return
        if isinstance(event, RequestProtocolError):
            event = RequestEndOfMessage(self.stream_id)
        elif isinstance(event, ResponseProtocolError):
            event = ResponseEndOfMessage(self.stream_id)
        yield from super().passthrough(event)
        if not self.flow.live:
            yield DropStream(self.stream_id)

    def handle_connect_finish(self) -> Commands[None]:
        """A tunnel on the bare connection is the connection from now on: mitmproxy would still pass all of it, command
        by command, through the layers that opened it. Inside TLS to the proxy itself they are needed."""
        yield from super().handle_connect_finish()  # type: ignore[no-untyped-call] # untyped in mitmproxy
        if self._handle_event == self.passthrough and self.child_layer is not None and not self.context.client.tls:
            yield TunnelOpened(self.child_layer)

    def check_body_size(self, request: bool) -> Commands[bool]:
        """mitmproxy's own check knows one limit for both directions, and answers without a readable error."""
        error = self.room.admit(len(self.request_body_buf) if request else 0)
        if error is None:
            return False
        refuse_with(self.flow, error)
        yield from self.answer_early()
        return True

    def left_while_paused(self) -> None:
        self.abandoned = True
        state = flow_state(self.flow)
        told, state.on_abandoned = state.on_abandoned, None
        if told is not None:
            told()

    def watch(self) -> None:
        """From now on there is a deadline, and something to give back at the end."""
        self.handle_event = self._handle_watched  # type: ignore[method-assign] # others pay for neither

    def _handle_watched(self, event: events.Event) -> Commands[None]:
        """In place of ``handle_event`` for requests with a body, and answers that are inspected."""
        if (
            isinstance(event, events.Wakeup)
            and not isinstance(event.command, Awaited)
            and self._phase is not Phase.LINGERING
        ):
            if self._paused is not None:
                if event.command is self._keep_alive:
                    yield from self._let_wait()
                return
            if not (self._is_late(event) or self.client_state == self.state_consume_request_body):
                return
            self._handle_event = self._handle_own
        if self._kept_alive is None:
            yield from super().handle_event(event)
        else:
            for command in super().handle_event(event):
                if isinstance(command, SendHttp) and command.connection is self.context.client:
                    for told in self._kept_alive.events(command.event):
                        yield SendHttp(told, self.context.client)
                else:
                    yield command
        self._release_if_done()

    def enter(self, phase: Phase) -> None:
        """Raises RuntimeError where ``stream_phase`` has no such step."""
        self._phase = step(self._phase, phase)
        self._handle_event = self._handle_own

    def _handle_own(self, event: events.Event) -> Commands[None]:
        """In place of ``_handle_event`` from the first thing on that mitmproxy has no state for: a phase other than
        COLLECTING, an answer that is masked, a deadline that has passed."""
        if self._phase is Phase.LINGERING:
            yield from self._drop(event)
            return
        if isinstance(event, events.Wakeup):
            yield from self._woken(event)
        elif self._masked is None:
            yield from super()._handle_event(event)
        else:
            yield from self._handle_masked(event, self._masked)
        if self._phase is Phase.FORWARDING:
            yield from self._known_call.settle()

    def _is_late(self, wakeup: events.Wakeup) -> bool:
        """Whether the answer is."""
        return self._inspected is not None and self._inspected.is_late(wakeup)

    def _woken(self, event: events.Wakeup) -> Commands[None]:
        if self._inspected is not None and self._inspected.is_late(event):
            yield from self._inspected.late()
        elif self._phase is Phase.FORWARDING:
            yield from self._known_call.decided()
        elif self._call is not None and self._call.is_pause(event):
            yield from self._call.look()
        else:
            yield from self._late_body()

    def _handle_masked(self, event: events.Event, answer: MaskedAnswer) -> Commands[None]:
        try:
            arrived = answer.masked(event)
        except UndecodableError:
            yield SendHttp(RequestProtocolError(self.stream_id, UNREADABLE, ErrorCode.CANCEL), self.context.server)
            arrived = [answer.unreadable()]
        for one in arrived:
            yield from super()._handle_event(one)

    @property
    def _known_call(self) -> BidirectionalCall:
        if self._call is None:
            raise RuntimeError("later messages of a call that has none")
        return self._call

    def _late_body(self) -> Commands[None]:
        error = ValidationError(f"the body did not arrive within {self._limits.upload_seconds:g} seconds")
        refuse_with(self.flow, error)
        yield from self.answer_early()

    def _let_wait(self) -> Commands[None]:
        """The client hears that its call is still waiting."""
        exchange = flow_state(self.flow).waits_for
        if exchange is None or self.abandoned:
            return
        if self._kept_alive is None:
            self._kept_alive = KeptAlive(self.stream_id, exchange, is_http2=self.context.client.alpn == b"h2")
            told = self._kept_alive.begin()
        else:
            told = self._kept_alive.go_on()
        for event in told:
            yield SendHttp(event, self.context.client)
        self._keep_alive = commands.RequestWakeup(EVERY_SECONDS)
        yield self._keep_alive

    def _release_if_done(self) -> None:
        if not self.flow.live:
            self._release()

    def _release(self) -> None:
        self.release_answer()
        self.room.release_all()
        # The stream is part of a reference cycle: without this the body would wait for the garbage collector.
        self.request_body_buf.clear()
        self.flow.request.data.content = None

    def answer_early(self) -> Commands[None]:
        """Answer before the request has ended, then read what still comes and drop it."""
        response = self.flow.response
        if response is None or response is LATCH:
            raise RuntimeError("refused without an answer")
        self.request_body_buf.clear()
        self._release()
        self.client_state = self.server_state = self.state_errored
        yield HttpResponseHook(self.flow)
        yield from self._send(response, close=True)
        yield from self.linger()

    def linger(self) -> Commands[None]:
        """Read what still comes, and drop it."""
        self.enter(Phase.LINGERING)
        yield commands.RequestWakeup(LINGER_SECONDS)

    def _drop(self, event: events.Event) -> Commands[None]:
        if isinstance(event, events.Wakeup) and isinstance(event.command, Awaited):
            return  # a decision about messages that are not sent any more
        if isinstance(event, events.Wakeup) and self.flow.live:
            if self.context.client.alpn == b"h2":
                yield SendHttp(ResponseProtocolError(self.stream_id, "refused", ErrorCode.CANCEL), self.context.client)
            else:
                yield commands.CloseConnection(self.context.client)
        if isinstance(event, events.Wakeup | RequestEndOfMessage | RequestProtocolError) and self.flow.live:
            self.flow.live = False
            yield DropStream(self.stream_id)

    def _send(self, response: Response, *, close: bool) -> Commands[None]:
        if close and self.context.client.alpn != b"h2":
            response.headers["connection"] = "close"
        content = response.raw_content
        yield SendHttp(ResponseHeaders(self.stream_id, response, not content), self.context.client)
        if content:
            yield SendHttp(ResponseData(self.stream_id, content), self.context.client)
        yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)

    def make_server_connection(self) -> Commands[bool]:
        """The one way upstream. Only for what the last addon has lifted, whatever ``flow.response`` says."""
        state = flow_state(self.flow)
        if not state.lifted or self.room.overflow is not None:
            yield from self.handle_protocol_error(
                ResponseProtocolError(self.stream_id, "not allowed by the gate", ErrorCode.CONNECT_FAILED)
            )
            return False
        own = self._is_http2_socket
        connected = yield from showing(super().make_server_connection(), state.shown, is_for_socket=own)
        if connected and self.abandoned:  # meanwhile; over HTTP/2 it may have been refused too
            if own:
                yield self._end_of_server()
            yield from self.handle_protocol_error(
                ResponseProtocolError(self.stream_id, "the client has left", ErrorCode.CLIENT_DISCONNECTED)
            )
            return False
        # The next command writes the head of the request.
        state.sent_upstream = bool(connected)
        return bool(connected)

    @property
    def is_unanswered(self) -> bool:
        """Whether the client has seen nothing of an answer."""
        is_collecting = self._inspected is not None and self._inspected.is_collecting
        return is_collecting or bool(self.server_state == self.state_wait_for_response_headers)

    def handle_protocol_error(self, event: RequestProtocolError | ResponseProtocolError) -> Commands[None]:
        """As mitmproxy does it, but with an answer that says why, where none has begun yet."""
        if self.server_state == self.state_done and not self.flow.live:
            return  # a server that was told to stop, after its answer was replaced
        if not has_state(self.flow):
            yield from super().handle_protocol_error(event)  # answered before any addon saw it
            return
        unanswered = self.is_unanswered
        state = flow_state(self.flow)
        if isinstance(event, ResponseProtocolError) and state.refusal is None and not state.sent_upstream:
            data = self.flow.request.data
            state.refusal = state.client.blocked.get((data.host, data.port))
        for command in super().handle_protocol_error(event):
            if (
                unanswered
                and isinstance(command, SendHttp)
                and command.event is event
                and isinstance(event, ResponseProtocolError)
                and event.code.http_status_code() is not None
            ):
                yield from self._send(failed_answer(self.flow, event), close=False)
            else:
                yield command
