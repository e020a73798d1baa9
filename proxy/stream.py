"""One request and its response, closed where mitmproxy is open: bodies are bounded, an upload has a deadline, errors
say why, and nothing is written upstream for a request that was not lifted.

Extends an internal class of mitmproxy; see ``proxy.layers``.
"""

from collections import deque
from typing import Any, Final

from mitmproxy.http import Response
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import DropStream, GetHttpConnection, HTTPMode, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import HttpConnectHook, HttpRequestHeadersHook, HttpResponseHook

from addons.limits import RequestLimits, body_too_large
from addons.refusal import refusal_response
from addons.refuse import refuse_with
from addons.verdict import LATCH, FlowState, client_state, flow_state, has_state, open_flow
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import (
    HeadgateError,
    UnavailableError,
    UpstreamFailedError,
    ValidationError,
)
from proxy.bidirectional_stream import BidirectionalStream
from proxy.budget import BufferBudget
from proxy.client_certificate import GateHttpConnection
from proxy.commands import Awaited, Commands, TunnelOpened
from proxy.kept_alive import EVERY_SECONDS, FIRST_SECONDS, KeptAlive, may_wait
from proxy.websocket import GateWebsocket

LINGER_SECONDS: Final = 5.0
"""How long the rest of a refused upload is read and dropped, so that its sender sees the answer instead of a
reset connection (RFC 9112, 9.6)."""


class _PausedQueue(deque[events.Event]):
    """What arrives for a request while one of its hooks waits: counted, and looked at for the client's leaving."""

    def __init__(self, stream: "GateStream") -> None:
        super().__init__()
        self._stream = stream

    def append(self, event: events.Event) -> None:
        if isinstance(event, RequestData) and not self._stream.arrived_while_paused(len(event.data)):
            return
        super().append(event)
        if isinstance(event, RequestProtocolError):
            self._stream.left_while_paused()


class GateStream(BidirectionalStream):
    """One request and its response."""

    def __init__(self, context: Context, stream_id: int, limits: RequestLimits, budget: BufferBudget) -> None:
        super().__init__(context, stream_id, budget)
        self._limits = limits
        self._reserved = 0
        self._overflow: HeadgateError | None = None
        self.abandoned = False
        self._keep_alive: commands.RequestWakeup | None = None
        self._kept_alive: KeptAlive | None = None
        self._paused_event_queue = _PausedQueue(self)

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
            if self._overflow is not None:
                refuse_with(self.flow, self._overflow)
            if flow_state(self.flow).refusal is not None:
                yield from self.answer_early()
            elif not any(isinstance(queued, RequestEndOfMessage) for queued in self._paused_event_queue):
                # Uploads that stall would keep others out of the budget.
                self.handle_event = self._handle_event_with_body  # type: ignore[method-assign] # see there
                yield commands.RequestWakeup(self._limits.upload_seconds)
                yield from self.await_pause(self._limits.pause_seconds)

    def state_consume_request_body(self, event: events.Event) -> Commands[None]:
        if isinstance(event, RequestEndOfMessage) and may_wait(self.flow.request):
            self.handle_event = self._handle_event_with_body  # type: ignore[method-assign] # see there
            self._keep_alive = commands.RequestWakeup(FIRST_SECONDS)
            yield self._keep_alive
        yield from super().state_consume_request_body(event)

    def flow_done(self) -> Commands[None]:
        """As mitmproxy does it, with the gate's own layer of a WebSocket."""
        if not self.flow.websocket:
            yield from super().flow_done()
            return
        state = flow_state(self.flow)
        if state.socket is None:
            self.client_state = self.server_state = self.state_errored
            yield commands.CloseConnection(self.context.server)
            yield commands.CloseConnection(self.context.client)
            return
        state.socket.echoes = state.echoes
        self.child_layer = GateWebsocket(self.context, self.flow, state.socket, self._budget)
        self._handle_event = self.passthrough
        yield from self.child_layer.handle_event(events.Start())
        yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)

    def handle_connect_finish(self) -> Commands[None]:
        """A tunnel on the bare connection is the connection from now on: mitmproxy would still pass all of it, command
        by command, through the layers that opened it. Inside TLS to the proxy itself they are needed."""
        yield from super().handle_connect_finish()  # type: ignore[no-untyped-call] # untyped in mitmproxy
        if self._handle_event == self.passthrough and self.child_layer is not None and not self.context.client.tls:
            yield TunnelOpened(self.child_layer)

    def check_body_size(self, request: bool) -> Commands[bool]:
        """mitmproxy's own check knows one limit for both directions, and answers without a readable error."""
        error = self.admit_bytes(len(self.request_body_buf) if request else 0)
        if error is None:
            return False
        refuse_with(self.flow, error)
        yield from self.answer_early()
        return True

    def admit_bytes(self, size: int) -> HeadgateError | None:
        # What arrived while a hook waited is counted already.
        return self._admit(size) if size > self._reserved else None

    def release_bytes(self, size: int) -> None:
        self._budget.release(client_state(self.context.client), size)
        self._reserved -= size

    def overflow_error(self) -> HeadgateError | None:
        return self._overflow

    def arrived_while_paused(self, size: int) -> bool:
        """Whether bytes that came while a hook ran are kept; where not, the request is refused after the hook."""
        if self._overflow is None:
            self._overflow = self._admit(self._reserved + size)
        return self._overflow is None

    def left_while_paused(self) -> None:
        self.abandoned = True
        state = flow_state(self.flow)
        told, state.on_abandoned = state.on_abandoned, None
        if told is not None:
            told()

    def _admit(self, size: int) -> HeadgateError | None:
        client = flow_state(self.flow).client
        if size > self._limits.body:
            return body_too_large(self._limits.body)
        if not self._budget.reserve(client, size - self._reserved):
            return UnavailableError(
                "the gate holds as many request bodies, of all agents or of this one, as it may: send it again",
                retry_after_seconds=1,
            )
        self._reserved = size
        self.handle_event = self._handle_event_with_body  # type: ignore[method-assign] # see there
        return None

    def _handle_event_with_body(self, event: events.Event) -> Commands[None]:
        """In place of ``handle_event`` for requests with a body, and answers that are inspected: a deadline, and
        something to give back at the end."""
        if (
            isinstance(event, events.Wakeup)
            and not isinstance(event.command, Awaited)
            and self._handle_event != self._lingering
        ):
            if self._paused is not None:
                if event.command is self._keep_alive:
                    yield from self._let_wait()
                return
            if self.answer_is_late(event):
                self._go_on_with(self._late_answer())
            elif self.client_state != self.state_consume_request_body:
                return
            elif not self.is_pause(event):
                self._go_on_with(self._late_body())
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

    def _go_on_with(self, step: Commands[None]) -> None:
        """In place of the event that is handled next: a hook in it stops this stream, and not its connection."""
        before = self._handle_event

        def begin(_: events.Event) -> Commands[None]:
            self._handle_event = before
            return step

        self._handle_event = begin

    def _late_answer(self) -> Commands[None]:
        yield from self.withhold_late_answer()
        yield from self.end_if_answered()

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

    def watch_answer(self) -> None:
        self.handle_event = self._handle_event_with_body  # type: ignore[method-assign] # see there

    def _release_if_done(self) -> None:
        if not self.flow.live:
            self._release()

    def _release(self) -> None:
        self.release_answer()
        if self._reserved:
            self._budget.release(client_state(self.context.client), self._reserved)
            self._reserved = 0
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
        self._handle_event = self._lingering
        yield commands.RequestWakeup(LINGER_SECONDS)

    def _lingering(self, event: events.Event) -> Commands[None]:
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
        if not state.lifted or self._overflow is not None:
            yield from self.handle_protocol_error(
                ResponseProtocolError(self.stream_id, "not allowed by the gate", ErrorCode.CONNECT_FAILED)
            )
            return False
        connected = yield from self._connect(state)
        # The next command writes the head of the request.
        state.sent_upstream = bool(connected)
        return bool(connected)

    def _connect(self, state: FlowState) -> Commands[bool]:
        """As mitmproxy does it, but never over a connection that shows another certificate than this request's."""
        inner = super().make_server_connection()
        reply: Any = None
        while True:
            try:
                command = inner.send(reply)
            except StopIteration as done:
                return bool(done.value)
            if isinstance(command, GetHttpConnection):
                wanted = GateHttpConnection(command.address, command.tls, command.via, command.transport_protocol)
                wanted.shown = state.shown
                command = wanted
            reply = yield command

    def handle_protocol_error(self, event: RequestProtocolError | ResponseProtocolError) -> Commands[None]:
        """As mitmproxy does it, but with an answer that says why, where none has begun yet."""
        if self.server_state == self.state_done and not self.flow.live:
            return  # a server that was told to stop, after its answer was replaced
        if not has_state(self.flow):
            yield from super().handle_protocol_error(event)  # answered before any addon saw it
            return
        unanswered = self.is_collecting or self.server_state == self.state_wait_for_response_headers
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
                yield from self._send(self._explain(event), close=False)
            else:
                yield command

    def _explain(self, event: ResponseProtocolError) -> Response:
        state = flow_state(self.flow)
        data = self.flow.request.data
        error = state.refusal
        if error is None and not state.lifted:
            error = UnavailableError("the gate did not decide; nothing was forwarded")
        if error is None:
            what = "could not be reached"
            if state.sent_upstream:
                what = "answered with something that is not HTTP"
            elif "certificate verify failed" in event.message.lower():
                what = "shows a certificate that is not trusted (HEADGATE_UPSTREAM_CA_FILE adds roots)"
            if state.inspection is None or not state.sent_upstream:
                what = f"{what}: {event.message}"  # it may quote what the destination wrote, which nobody has inspected
            error = UpstreamFailedError(
                f"{data.host} port {data.port} {what}",
                details={"host": data.host, "port": data.port, "sent": state.sent_upstream},
            )
        return refusal_response(
            error,
            request_id=state.request_id,
            now=system_clock(),
            head=data.method == b"HEAD",
            help_url=state.help_for(error.code),
        )
