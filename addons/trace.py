"""A span for each intercepted call, with the decision, the hold and the call to the destination as its children.

It is put together only where telemetry is on (``proxy.server``), and nothing of it decides: what fails here is counted,
and the call goes on. Spans name places and ids; no path, no query, no header and no body is in them.

The agent's ``traceparent`` (W3C Trace Context) is the parent. A malformed one is ignored and forwarded as it is; a
valid one names our span of the call to the destination when it is forwarded. No approval covers it
(config/digest.yaml). A call without one is forwarded without one: the destination gets what was decided.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import structlog
from mitmproxy.http import HTTPFlow
from msgspec.structs import asdict
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from addons.verdict import Completion, Ending, FlowState, flow_state, is_open
from headgate.gate.admit_call import CallGate, Enforced, Reading
from headgate.gate.admitted import Admitted
from headgate.gate.caller import Caller
from headgate.gate.candidate import BoundCandidate, Candidate
from headgate.gate.held_call import HeldCall
from headgate.gate.organization_state import OrganizationState
from headgate.kernel.errors import HeadgateError

_log = structlog.get_logger(__name__)

_PROPAGATOR: Final = TraceContextTextMapPropagator()
_TRACEPARENT: Final = "traceparent"
_TRACESTATE: Final = "tracestate"


class CallTrace:
    """The spans of one call. At most one child is open."""

    def __init__(self, tracer: Tracer, flow: HTTPFlow) -> None:
        self._tracer = tracer
        parent = _given(flow)
        self._is_continued = parent is not None
        request = flow.request
        self._root = tracer.start_span(
            request.method,
            parent or Context(),
            SpanKind.SERVER,
            {
                "http.request.method": request.method,
                "url.scheme": request.scheme,
                "server.address": request.host,
                "server.port": request.port,
            },
        )
        self._inside = set_span_in_context(self._root, Context())
        self._child: Span | None = None

    def named(self, tool: str, operation: str) -> None:
        self._root.update_name(f"{tool}.{operation}")
        self._root.set_attributes({"headgate.tool": tool, "headgate.operation": operation})

    def says(self, name: str, value: str | int) -> None:
        self._root.set_attribute(name, value)

    def begin(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> Span:
        """The next child; ends the one before."""
        self._end_child()
        self._child = self._tracer.start_span(name, self._inside, kind)
        return self._child

    def forwarded(self, flow: HTTPFlow) -> None:
        """The call goes to the destination now."""
        span = self.begin("upstream", SpanKind.CLIENT)
        if self._is_continued:
            carrier: dict[str, str] = {}
            _PROPAGATOR.inject(carrier, set_span_in_context(span, Context()))
            flow.request.headers[_TRACEPARENT] = carrier[_TRACEPARENT]

    def end(self, *, status: int | None = None, error: str | None = None) -> None:
        """``error``: a stable code or ending, never a text that somebody else wrote."""
        for span in (self._child, self._root):
            if span is None:
                continue
            if status is not None:
                span.set_attribute("http.response.status_code", status)
            if error is not None:
                span.set_attribute("error.type", error)
                span.set_status(StatusCode.ERROR)
        self._end_child()
        self._root.end()

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None


def _given(flow: HTTPFlow) -> Context | None:
    """The agent's trace. None: it sent none, or more than one, or none that can be read."""
    headers = flow.request.headers
    if len(headers.get_all(_TRACEPARENT)) != 1:
        return None
    carrier = {_TRACEPARENT: headers[_TRACEPARENT], _TRACESTATE: ",".join(headers.get_all(_TRACESTATE))}
    return _PROPAGATOR.extract(carrier, Context()) or None


class CallTraces:
    """The calls of a proxy process that are on their way."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._calls: dict[FlowState, CallTrace] = {}

    def around(self, gate: CallGate) -> "tuple[CallGate, list[object], list[object]]":
        """The decision point with its decisions as spans, and the addons before and after the enforcement point."""
        traced = TracedGate(**asdict(gate), traces=self)
        return traced, [BeginTrace(self)], [EndTrace(self)]

    def of(self, client: object) -> CallTrace | None:
        """None: a message of a WebSocket, or a later one of a call of gRPC, which has no span of its own."""
        return self._calls.get(client) if isinstance(client, FlowState) else None

    def begin(self, flow: HTTPFlow) -> None:
        self._calls[flow_state(flow)] = CallTrace(self._tracer, flow)

    def take(self, state: FlowState) -> CallTrace | None:
        """The call has ended: nothing of it is kept."""
        return self._calls.pop(state, None)

    @contextmanager
    def held(self, held: HeldCall) -> Iterator[None]:
        """A ``headgate.gate.hold_call.HoldWatch``: the wait for a person, and the decision after it."""
        call = self.of(held.client)
        if call is not None:
            with _harmless():
                span = call.begin("hold")
                span.set_attribute("headgate.approval_id", held.approval_id or "")
        yield
        if call is not None:
            with _harmless():
                call.begin("decision")


class BeginTrace:
    """Before the enforcement point."""

    def __init__(self, traces: CallTraces) -> None:
        self._traces = traces

    def request(self, flow: HTTPFlow) -> None:
        if is_open(flow):
            with _harmless():
                self._traces.begin(flow)


class EndTrace:
    """After the enforcement point, before a credential is written beside the request."""

    def __init__(self, traces: CallTraces) -> None:
        self._traces = traces

    def request(self, flow: HTTPFlow) -> None:
        state = flow_state(flow)
        call = self._traces.of(state)
        if call is None or not state.allowed or state.refusal is not None:
            return
        with _harmless():
            call.forwarded(flow)
        state.on_complete = self._ending(state, state.on_complete)

    def _ending(self, state: FlowState, told: Callable[[Completion], None] | None) -> Callable[[Completion], None]:
        def ended(completion: Completion) -> None:
            call = self._traces.take(state)
            if call is not None:
                is_good = completion.ending in (Ending.COMPLETE, Ending.LEFT) and completion.told_failure is None
                with _harmless():
                    call.end(status=completion.status, error=None if is_good else completion.ending.value)
            if told is not None:
                told(completion)

        return ended

    def response(self, flow: HTTPFlow) -> None:
        self._refused(flow)

    def error(self, flow: HTTPFlow) -> None:
        self._refused(flow)

    def _refused(self, flow: HTTPFlow) -> None:
        state = flow_state(flow)
        call = self._traces.take(state) if state.on_complete is None else None
        if call is not None:
            status = None if flow.response is None else flow.response.status_code
            with _harmless():
                call.end(status=status, error=None if state.refusal is None else state.refusal.code.value)


class TracedGate(CallGate, frozen=True, kw_only=True):
    """The decision point, whose decisions are spans."""

    traces: CallTraces

    async def admit(self, caller: Caller, reading: Reading, held: HeldCall, enforce: Enforced) -> Admitted:
        call = self.traces.of(held.client)
        if call is None:
            return await CallGate.admit(self, caller, reading, held, enforce)
        with _harmless():
            call.begin("decision")
            call.says("headgate.agent_id", caller.identity.agent_id or "")

        def named(organization: OrganizationState, candidate: Candidate) -> BoundCandidate:
            with _harmless():
                call.named(candidate.draft.tool, candidate.draft.operation)
            return enforce(organization, candidate)

        try:
            admitted = await CallGate.admit(self, caller, reading, held, named)
        except HeadgateError as refusal:
            with _harmless():
                call.says("headgate.decision", refusal.code.value)
                call.says("headgate.action_id", str((refusal.details or {}).get("action_id", "")))
            raise
        with _harmless():
            call.says("headgate.decision", "allow" if admitted.approval_id is None else "approved")
            call.says("headgate.action_id", admitted.action_id)
        return admitted


@contextmanager
def _harmless() -> Iterator[None]:
    """What fails in telemetry ends no call: an exception of a hook would refuse it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001
        with suppress(Exception):
            _log.warning("telemetry_failed", error=type(error).__name__)
