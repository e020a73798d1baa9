"""An intercepted call: decided, durably recorded, and then admitted, refused or held.

The one way to an ``Admitted`` is through a committed record of a decision made on the state of now; every
other way out of here is an exception, and the enforcement point forwards on nothing else.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from headgate.actions.instance import Instance
from headgate.actions.recording_store import ActionRow, RecordOutcome
from headgate.agents.authenticate import KeyRing
from headgate.agents.model import KeyIdentity
from headgate.connections.errors import BrokenConnectionError, NoConnectionError
from headgate.gate.admitted import Admitted
from headgate.gate.caller import MOST_DECISIONS, UNSETTLED, Caller, agree
from headgate.gate.decide_action import Candidate, RecordedObserver, action_row, observe_nothing
from headgate.gate.exempt_call import Exemptions
from headgate.gate.fair_decisions import FairDecisions
from headgate.gate.finish_execution import ExecutionEnds
from headgate.gate.held_approval import Pending
from headgate.gate.held_call import Again, HeldCall
from headgate.gate.hold_call import Holds
from headgate.gate.judge_content import ContentJudge
from headgate.gate.organization_state import OrganizationState, OrganizationStates
from headgate.gate.record_batch import Recorder
from headgate.gate.refusals import ActionDeniedError
from headgate.grants.exemption_store import ExemptionOutcome
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, DestinationBlockedError, UnauthorizedError, UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.policies.model import Decision, Verdict


class Reading(Protocol):
    """An intercepted call as it was read, and how it is read again."""

    @property
    def candidate(self) -> Candidate | None:
        """None: it has to be read."""

    async def read(self) -> Candidate:
        """Raises HeadgateError."""

    def drop(self) -> None:
        """The candidate is not needed for a while."""


class CallGate:
    """The policy decision point of a proxy process."""

    def __init__(
        self,
        *,
        states: OrganizationStates,
        keys: KeyRing,
        recorder: Recorder,
        holds: Holds,
        instance: Instance,
        ends: ExecutionEnds,
        clock: Clock,
        content: ContentJudge,
        exemptions: Exemptions,
        observe: Callable[[Decision], None] = lambda decision: None,
        shadow: RecordedObserver = observe_nothing,
        decisions: FairDecisions,
    ) -> None:
        self._decisions = decisions
        self._shadow = shadow
        self._states = states
        self._keys = keys
        self._recorder = recorder
        self._holds = holds
        self._instance = instance
        self._ends = ends
        self._clock = clock
        self._content = content
        self._exemptions = exemptions
        self._observe = observe

    async def admit(
        self,
        caller: Caller,
        reading: Reading,
        held: HeldCall,
        enforce: Callable[[OrganizationState, Candidate], Candidate],
    ) -> Admitted:
        """Decide, record, and hold where a human has to agree.

        ``enforce`` makes the enforcement point's own rules those of the state that is decided on, each time that
        one is, and says what is decided: the candidate, with the connection that it uses in that state. It raises
        DestinationBlockedError where the rules refuse, NoConnectionError and BrokenConnectionError.

        Raises these, ActionDeniedError, ApprovalPendingError, ApprovalDeniedError, ClientGoneError,
        UnauthorizedError, UnavailableError.
        """
        stale = 0
        while stale < MOST_DECISIONS:
            state = await agree(caller, self._states, self._keys, self._clock)
            try:
                candidate = enforce(state, reading.candidate or await reading.read())
            except (DestinationBlockedError, NoConnectionError, BrokenConnectionError):
                # Not an action yet, so no record compares the generation: a destination that was allowed a moment
                # ago must not be refused on what was before.
                await self._states.refresh()
                if self._states.current(state.org_id) is state:
                    raise
                stale += 1
                continue
            decision = self._decisions.at_once(state, candidate)
            if decision is None:
                decision = await self._decisions.in_turn(state, candidate)
            held.capture = decision.capture
            self._observe(decision)
            if state.nlp_policies and decision.verdict is not Verdict.DENY:
                decision = await self._content.tightened(
                    state, candidate, decision, partial(self._holds.judged_before, caller.identity, candidate)
                )
            answer: Admitted | Again | Pending | None = None
            if decision.verdict is not Verdict.ALLOW and state.has_exemptions:
                answer = await self._permitted(state, caller.identity, candidate, decision, held)
            if answer is None and decision.verdict is Verdict.REQUIRE_APPROVAL:
                answer = await self._holds.step(caller.identity, candidate, decision, held)
            elif answer is None:
                answer = await self._record(caller.identity, candidate, decision)
            if isinstance(answer, Admitted):
                return answer
            if isinstance(answer, Pending):
                del candidate  # while it waits, a large call is not kept as it was read
                reading.drop()
                answer = await self._holds.wait(caller.identity, answer, decision, held)
            if answer is Again.STALE:
                stale += 1
                await self._states.newer_than(state)
        raise UnavailableError(UNSETTLED, retry_after_seconds=1)

    async def _permitted(
        self, state: OrganizationState, identity: KeyIdentity, candidate: Candidate, decision: Decision, held: HeldCall
    ) -> Admitted | Again | None:
        """By a grant or a broken glass; None: by none. A call that waits for its own approval goes on waiting."""
        if held.approval_id is not None and decision.verdict is Verdict.REQUIRE_APPROVAL:
            return None
        admitted = await self._exemptions.admit(state, identity, candidate, decision)
        return Again.STALE if isinstance(admitted, ExemptionOutcome) else admitted

    async def _record(self, identity: KeyIdentity, candidate: Candidate, decision: Decision) -> Admitted | Again:
        """STALE: the state moved meanwhile, nothing was recorded."""
        now = self._clock()
        allowed = decision.verdict is Verdict.ALLOW
        execution_id = new_id(IdPrefix.EXECUTION) if allowed else None
        row = action_row(
            identity,
            candidate,
            decision,
            status="executing" if allowed else "denied",
            created_at=now,
            execution_id=execution_id,
            instance_id=self._instance.instance_id if allowed else None,
        )
        if execution_id is None:
            outcome = await self._submit(identity, candidate, decision, row)
        else:
            admitted = Admitted(identity.org_id, row.agent_id, row.action_id, execution_id, None, now)
            with self._ends.claiming(admitted, self._clock):
                outcome = await self._submit(identity, candidate, decision, row)
            if outcome is RecordOutcome.RECORDED:
                return admitted
            self._instance.ended(execution_id)
        match outcome:
            case RecordOutcome.RECORDED:
                raise ActionDeniedError(
                    decision.reason,
                    details={
                        "action_id": row.action_id,
                        "policy_id": decision.policy_id,
                        "risk_level": decision.risk_level.value,
                        "tool": row.tool,
                        "operation": row.operation,
                    },
                )
            case RecordOutcome.STALE:
                return Again.STALE
            case RecordOutcome.UNKNOWN:
                raise UnauthorizedError("the agent of this key is no longer active")
            case RecordOutcome.DUPLICATE:  # an intercepted call has no idempotency key of Headgate's
                raise ConflictError("the action was recorded already")

    async def _submit(
        self, identity: KeyIdentity, candidate: Candidate, decision: Decision, row: ActionRow
    ) -> RecordOutcome:
        outcome = await self._recorder.submit_action(row)
        if outcome is RecordOutcome.RECORDED:
            self._shadow(identity, candidate, decision, row.action_id, row.created_at)
        return outcome
