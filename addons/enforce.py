"""The policy enforcement point: a request is allowed only when its admission has been committed.

Everything that can go wrong on the way is an exception, and the dispatcher turns one that is not ours into a
refusal as well: there is no path from here to ``allow`` but the last line of ``_admit``.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from mitmproxy.http import HTTPFlow

from addons.call_reading import CallReader, CallReading
from addons.capture import Capture
from addons.client_deadline import client_seconds
from addons.client_messages import MessageGate
from addons.guard import Guard
from addons.identify import as_proxy_refusal, subject_of
from addons.inspection import Inspection, Inspector
from addons.later_messages import LaterMessages
from addons.llm_answer import LlmAnswer
from addons.metrics import ADMIT_SECONDS, ALLOWED, APPROVED, HELD_SECONDS
from addons.outcome import outcome_of
from addons.refuse import refuse_mcp_with, refuse_with
from addons.replaced_body import replace_body
from addons.shown_answer import ShownAnswer
from addons.socket_messages import SocketMessages
from addons.tool_answer import ToolAnswer
from addons.verdict import Completion, Ending, FlowState, allow, flow_state, is_open
from headgate.agent_sessions.memory import SessionMemory
from headgate.agent_sessions.model import APPROVED_CALL, SessionCall
from headgate.agents.own_limits import own_quota
from headgate.connections.model import Connection
from headgate.gate.admit_call import CallGate
from headgate.gate.admitted import Admitted
from headgate.gate.caller import Caller
from headgate.gate.cancellations import Cancellations
from headgate.gate.candidate import BoundCandidate, Candidate, ReadAction, with_connection
from headgate.gate.finish_execution import ExecutionEnds, ExecutionOutcome
from headgate.gate.held_call import HeldCall
from headgate.gate.offered_tools import RulesInTurns, ToolListing
from headgate.gate.organization_state import OrganizationState
from headgate.gate.recall_session import with_session
from headgate.gate.recall_usage import with_usage
from headgate.gate.recall_values import note_what_is_told, with_origins
from headgate.gate.refusals import CallCancelledError, ClientGoneError
from headgate.gate.tool_change import with_tool_change
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.error_body import help_url_of
from headgate.kernel.errors import AgentUnauthorizedError, HeadgateError
from headgate.llm_usage.memory import UsageMemory
from headgate.llm_usage.model import ModelUse, day_of
from headgate.llm_usage.of_outcome import counted_model, kept_usage
from headgate.mcp_tools.pins import ToolPins
from headgate.nlp_policies.message_window import MessageWindow
from headgate.protocols.draft import ActionDraft
from headgate.provenance.memory import ValueMemory
from headgate.provenance.model import ProvenanceRules, Source, SourceKind
from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.headers import require_allowed
from headgate.ratelimits.local import LocalLimiter

_NOTHING_SENT: Final = "not forwarded: the client went away, or the gate failed, before anything was sent"


class Enforce:
    """Decide, record, hold; then allow or refuse."""

    def __init__(
        self,
        *,
        gate: CallGate,
        reader: CallReader,
        guard: Guard,
        ends: ExecutionEnds,
        inspector: Inspector,
        limiter: LocalLimiter | None,
        clock: Clock,
        monotonic: Callable[[], float],
        capture: Capture,
        memory: ValueMemory,
        sessions: SessionMemory,
        usage: UsageMemory,
        cancellations: Cancellations,
        rules: RulesInTurns,
        pins: ToolPins,
        public_api_url: str,
    ) -> None:
        self._rules = rules
        self._pins = pins
        self._memory = memory
        self._sessions = sessions
        self._usage = usage
        self._cancellations = cancellations
        self._public_api_url = public_api_url
        self._capture = capture
        self._gate = gate
        self._reader = reader
        self._guard = guard
        self._ends = ends
        self._inspector = inspector
        self._limiter = limiter
        self._clock = clock
        self._monotonic = monotonic

    async def request(self, flow: HTTPFlow) -> None:
        if not is_open(flow):
            return
        state = flow_state(flow)
        caller = state.client.caller
        reading: CallReading | None = None
        arrived = MessageWindow().arrived() if state.stream.is_bidirectional else None
        try:
            if caller is None:
                raise AgentUnauthorizedError("no agent key on this connection")
            if self._limiter is not None:
                require_allowed(self._limiter.check(RateClass.PROXY, subject_of(caller), own_quota(caller.identity)))
            reading = self._reader.begin(flow, caller, arrived=arrived)
            if reading.at_once() is None:
                await reading.read()
            self._cancellations.note(caller.identity.org_id, reading.action)
            exchange = reading.action.mcp
            if exchange is not None and exchange.has_outcome and exchange.accepts_stream:
                state.waits_for = exchange
            with self._cancellations.cancellable(caller.identity.org_id, reading.action, state.cancel):
                await self._admit(flow, state, caller, reading)
        except HeadgateError as error:
            refusal = as_proxy_refusal(CallCancelledError() if state.cancelled else error)
            state.help_url = state.help_url or help_url_of(
                self._public_api_url, (refusal.details or {}).get("action_id")
            )
            if reading is not None and reading.mcp_id is not None:
                refuse_mcp_with(flow, reading.mcp_id, refusal)
            else:
                refuse_with(flow, refusal)
        finally:
            state.waits_for = None
            if reading is not None:
                reading.end()

    async def _admit(self, flow: HTTPFlow, state: FlowState, caller: Caller, reading: CallReading) -> None:
        decided_on: OrganizationState | None = None
        list_draft: ActionDraft | None = None

        def enforce(organization: OrganizationState, candidate: Candidate) -> BoundCandidate:
            nonlocal decided_on, list_draft
            decided_on = organization
            candidate = with_tool_change(candidate, organization, caller.identity.agent_name or "")
            bound = self._bind(flow, state, organization, candidate)
            if bound.draft.mcp is not None and bound.draft.mcp.lists_tools:
                list_draft = bound.draft
            return bound

        held = HeldCall(state, partial(client_seconds, flow))
        state.on_abandoned = held.waiter.wake
        began = self._monotonic()
        admitted: Admitted | None = None
        state.client.unfinished.add(state)
        try:
            admitted = await self._gate.admit(caller, reading, held, enforce)
            state.connection = held.connection
            state.help_url = help_url_of(self._public_api_url, admitted.action_id)
            if admitted.approval_id is not None:
                self._note_approved(flow, decided_on, reading.action)
            if not state.connected:
                raise ClientGoneError("the client has gone")
            if held.masking.body is not None:
                replace_body(flow.request, held.masking.body)
            if decided_on is None:
                raise RuntimeError("admitted by no organization's policies")
            if decided_on.captures.rules or held.capture is not None:
                self._capture.begin(
                    state,
                    decided_on.captures,
                    reading.action,
                    org_id=admitted.org_id,
                    mark=held.capture,
                    action_id=admitted.action_id,
                    decision="allow" if admitted.approval_id is None else "approved",
                    masking=held.masking,
                )
            if decided_on.provenance is not None:
                if reading.action.host:
                    self._memory.called(admitted.org_id, admitted.agent_id, reading.action.host)
                state.shown_answer = self._shown_answer(decided_on.provenance, reading.action, admitted)
            if state.stream.is_bidirectional or reading.action.handshake is not None:
                self._set_message_decider(flow, state, caller, reading, admitted, held.connection)
            _read_answer_along(state, reading.action)
            state.inspection = self._inspection(state, decided_on, caller, reading.action, admitted, list_draft)
            allow(flow, partial(self._ended, admitted, flow, reading.action.expected_status, decided_on))
        except BaseException as failure:
            state.client.unfinished.discard(state)
            if isinstance(failure, HeadgateError) and decided_on is not None:
                self._capture.begin_refused(
                    state,
                    decided_on.captures,
                    reading.action,
                    failure,
                    org_id=caller.identity.org_id,
                    mark=held.capture,
                    masking=held.masking,
                )
            if admitted is not None:
                # It is on record as begun, and ends here; the use of an approval, if there was one, is given back.
                nothing_sent = ExecutionOutcome(False, self._clock(), error=_NOTHING_SENT, nothing_sent=True)
                self._ends.finish(admitted, nothing_sent)
            raise
        finally:
            state.on_abandoned = None
            (HELD_SECONDS if held.approval_id else ADMIT_SECONDS).observe(self._monotonic() - began)
        (ALLOWED if admitted.approval_id is None else APPROVED).inc()

    def _bind(
        self, flow: HTTPFlow, state: FlowState, organization: OrganizationState, candidate: Candidate
    ) -> BoundCandidate:
        state.client.rules = organization.allowlist
        self._guard.recheck(flow, organization.allowlist)
        bound = with_connection(candidate, organization.connections, organization.org_id)
        org_id = organization.org_id
        if organization.provenance is not None:
            note_what_is_told(bound, self._memory, organization.provenance, org_id, self._clock)
            bound = with_origins(bound, self._memory, organization.provenance, org_id)
        if organization.reads_sessions:
            bound = with_session(bound, self._sessions, org_id)
        return with_usage(bound, self._usage, organization)

    def _note_approved(self, flow: HTTPFlow, organization: OrganizationState | None, action: ReadAction) -> None:
        """A held call goes: its destination is one that the session knows."""
        if organization is None or not organization.reads_sessions:
            return
        size = len(flow.request.data.content or b"")
        call = SessionCall(
            self._clock().timestamp(), action.tool, action.operation, None, action.host or None, APPROVED_CALL, size
        )
        self._sessions.note(organization.org_id, action.agent_id, call)

    def _set_message_decider(
        self,
        flow: HTTPFlow,
        state: FlowState,
        caller: Caller,
        reading: CallReading,
        admitted: Admitted,
        connection: Connection | None,
    ) -> None:
        """What decides about later messages: of a call that opens a WebSocket, or of a bidirectional call."""
        action = reading.action
        bind = partial(self._bind, flow, state)
        message_gate = MessageGate(self._gate, self._ends, self._limiter, self._clock, caller, bind)
        if reading.arrived is not None:
            state.later_messages = LaterMessages(message_gate, self._reader, flow, connection, reading.arrived.window)
        if action.handshake is not None:
            shown, state.shown_answer = state.shown_answer, None
            state.socket = SocketMessages(
                message_gate,
                connection=connection,
                evaluator=self._inspector.evaluator,
                address=str(flow.client_conn.peername[0]),
                handshake=action.handshake,
                action=action,
                action_id=admitted.action_id,
                shown=shown,
            )

    def _inspection(
        self,
        state: FlowState,
        organization: OrganizationState,
        caller: Caller,
        action: ReadAction,
        admitted: Admitted,
        list_draft: ActionDraft | None,
    ) -> Inspection | None:
        """``list_draft``: of a request for a server's tools."""
        listing = None
        if list_draft is not None:
            listing = ToolListing(
                self._rules, self._pins, organization, caller.identity, list_draft, admitted.action_id
            )
        if not organization.nlp_policies and listing is None:
            return None
        return self._inspector.inspection(
            organization,
            action,
            action_id=admitted.action_id,
            request_id=state.request_id,
            help_url=state.help_url,
            listing=listing,
            is_bidirectional=state.stream.is_bidirectional,
        )

    def _shown_answer(self, rules: ProvenanceRules, action: ReadAction, admitted: Admitted) -> ShownAnswer | None:
        """None: the answer of a language model is no source of values. It repeats its input, or makes values up."""
        if rules.is_model(action.host):
            return None
        source = Source(
            SourceKind.RESPONSE,
            rules.trusts(action.host),
            self._clock(),
            admitted.action_id,
            action.host,
            action.tool,
            action.operation,
        )
        return ShownAnswer(self._memory, admitted.org_id, admitted.agent_id, source)

    def _ended(
        self,
        admitted: Admitted,
        flow: HTTPFlow,
        expected_status: Callable[[int], bool],
        organization: OrganizationState,
        completion: Completion,
    ) -> None:
        """How the forwarded call ended; the agent's answer does not wait for this to be durable."""
        now = self._clock()
        answer = flow_state(flow).llm_answer
        llm = None
        if answer is not None and completion.ending is not Ending.NOT_SENT:
            llm = self._used(admitted, flow, answer, organization, completion.ending, now)
        self._ends.finish(
            admitted,
            outcome_of(completion, expected_status, now=now, started_at=admitted.started_at, flow=flow, llm=llm),
        )

    def _used(
        self,
        admitted: Admitted,
        flow: HTTPFlow,
        answer: LlmAnswer,
        organization: OrganizationState,
        ending: Ending,
        now: datetime,
    ) -> JsonObject | None:
        """What the call took of a language model; counted from here on, where a policy asks for it."""
        size = len(flow.request.data.content or b"")
        usage = answer.usage(request_bytes=size, is_complete=ending is Ending.COMPLETE)
        if usage is None:
            return None
        model = counted_model(answer.call.models, usage, organization.prices)
        if organization.reads_usage:
            use = ModelUse(admitted.execution_id, admitted.agent_id, model, day_of(now), usage)
            self._usage.note(admitted.org_id, use)
        return kept_usage(model, usage, organization.prices, answer.tools)


def _read_answer_along(state: FlowState, action: ReadAction) -> None:
    """Where the answer says more of its call than HTTP does."""
    exchange = action.mcp
    if exchange is not None and exchange.request_id is not None and exchange.has_outcome:
        state.tool_answer = ToolAnswer(exchange.request_id)
    if action.model is not None:
        state.llm_answer = LlmAnswer(action.model)
