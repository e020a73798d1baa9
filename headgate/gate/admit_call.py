"""Takes an intercepted call through the pipeline.

A committed record of a decision on current state is the only way to an ``Admitted``. Every other result is an
exception, and the enforcement point forwards on nothing else.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from msgspec import Struct

from headgate.actions.instance import Instance
from headgate.actions.recorded_entry import ActionRow
from headgate.actions.recording_store import RecordingOutcome
from headgate.agents.model import KeyIdentity
from headgate.connections.errors import BrokenConnectionError, NoConnectionError
from headgate.db.database import Database
from headgate.gate.admitted import Admitted
from headgate.gate.caller import Caller, Callers
from headgate.gate.candidate import BoundCandidate, Candidate
from headgate.gate.exempt_call import exempted, first_usable
from headgate.gate.finish_execution import ExecutionEnds
from headgate.gate.held_call import HeldCall, Pending
from headgate.gate.hold_call import Holds
from headgate.gate.masked_call import masked_call
from headgate.gate.organization_state import OrganizationState
from headgate.gate.pipeline import DecideAgain, Decided, DecisionPipeline, Held, Masked, masking_of, pass_through
from headgate.gate.record_batch import Recorder
from headgate.gate.record_rows import RecordedObserver, action_row, observe_nothing
from headgate.gate.refusals import denied_by_policy, not_recorded
from headgate.grants.exemption_store import Exemption, use_exemption
from headgate.kernel.clock import Clock
from headgate.kernel.errors import DestinationBlockedError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.nlp_policies.recall import Recalled
from headgate.policies.model import Verdict
from headgate.protocols.http_call import HttpCall


class Reading(Protocol):
    """An intercepted call as it was read, and how it is read again."""

    @property
    def candidate(self) -> Candidate | None:
        """None: it has to be read."""

    async def read(self) -> Candidate:
        """Raises HeadgateError."""

    def drop(self) -> None:
        """The candidate is not needed for a while."""

    async def read_with_body(self, call: HttpCall, body: bytes) -> Candidate:
        """``call`` as if it had been sent with this body. Raises HeadgateError."""

    def charge_masked(self, size: int) -> None:
        """A ``masked_call.Charge``. The reading gives it back at the end of the call."""


type Enforced = Callable[[OrganizationState, Candidate], BoundCandidate]
"""Applies the enforcement point's own rules of a state, each time that one is decided on, and binds the connection.
Raises DestinationBlockedError, NoConnectionError, BrokenConnectionError."""


class CallGate(Struct, frozen=True):
    """The policy decision point of a proxy process."""

    pipeline: DecisionPipeline
    callers: Callers
    recorder: Recorder
    database: Database
    holds: Holds
    instance: Instance
    ends: ExecutionEnds
    clock: Clock
    shadow: RecordedObserver = observe_nothing

    async def admit(self, caller: Caller, reading: Reading, held: HeldCall, enforce: Enforced) -> Admitted:
        """Decide, record, and hold where a human has to agree.

        Raises what ``enforce`` raises, ActionDeniedError, ApprovalPendingError, ApprovalDeniedError, ClientGoneError,
        UnauthorizedError, UnavailableError.
        """
        call = _InterceptedCall(self, reading, held, enforce)
        return await pass_through(self.pipeline, self.callers, caller, call, call.bind)


class _InterceptedCall(Struct, frozen=True):
    gate: CallGate
    reading: Reading
    held: HeldCall
    enforce: Enforced

    async def bind(self, state: OrganizationState) -> BoundCandidate | None:
        try:
            return self.enforce(state, self.reading.candidate or await self.reading.read())
        except (DestinationBlockedError, NoConnectionError, BrokenConnectionError):
            # Not an action yet, so no record compares the generation: a destination that was allowed a moment
            # ago must not be refused on what was before.
            states = self.gate.callers.states
            await states.refresh()
            if states.current(state.org_id) is state:
                raise
            return None

    async def recall(self, identity: KeyIdentity, candidate: BoundCandidate) -> Recalled:
        return await self.gate.holds.judged_before(identity, candidate)

    async def masked(self, state: OrganizationState, identity: KeyIdentity, decided: Decided) -> Masked | None:
        async def bind(candidate: Candidate) -> BoundCandidate:
            return self.enforce(state, candidate)

        reading = self.reading
        return await masked_call(
            decided.candidate, decided.decision.to_mask, reading.read_with_body, bind, reading.charge_masked
        )

    async def exempt(self, decided: Decided) -> Admitted | DecideAgain | None:
        self._note(decided)
        if self.held.approval_id is not None and decided.decision.verdict is Verdict.REQUIRE_APPROVAL:
            return None  # a call that waits for its own approval goes on waiting
        return await first_usable(decided, self.gate.clock(), partial(self._claim, decided))

    def _note(self, decided: Decided) -> None:
        """What the enforcement point does, if the call goes."""
        self.held.capture = decided.decision.capture
        self.held.connection = decided.candidate.connection
        self.held.masking = masking_of(decided)

    async def _claim(self, decided: Decided, exemption: Exemption) -> Admitted | RecordingOutcome:
        admitted, row = self._execution(exempted(decided, exemption), exemption.exemption_id)
        with self.gate.ends.claiming(admitted, self.gate.clock):
            async with self.gate.database.transaction(row.org_id) as connection:
                outcome = await use_exemption(connection, exemption, row)
        return self._result(decided, admitted, row, outcome)

    async def hold(self, decided: Decided) -> Admitted | DecideAgain | Held:
        self._note(decided)
        answer = await self.gate.holds.step(decided, self.held)
        if not isinstance(answer, Pending):
            return answer
        self.reading.drop()
        self.held.drop_large_body()
        return Held(partial(self.gate.holds.wait, decided.identity, answer, decided.decision, self.held))

    async def record(self, decided: Decided) -> Admitted | DecideAgain:
        self._note(decided)
        if decided.decision.verdict is not Verdict.ALLOW:
            row = action_row(decided, status="denied", created_at=self.gate.clock())
            outcome = await self.gate.recorder.submit_action(row)
            if outcome is RecordingOutcome.RECORDED:
                self.gate.shadow(decided, row.action_id, row.created_at)
                raise denied_by_policy(decided.decision, row)
            return not_recorded(outcome)
        admitted, row = self._execution(decided, None)
        with self.gate.ends.claiming(admitted, self.gate.clock):
            outcome = await self.gate.recorder.submit_action(row)
        result = self._result(decided, admitted, row, outcome)
        return result if isinstance(result, Admitted) else not_recorded(result)

    def _execution(self, decided: Decided, exemption_id: str | None) -> tuple[Admitted, ActionRow]:
        execution_id, now = new_id(IdPrefix.EXECUTION), self.gate.clock()
        row = action_row(
            decided,
            status="executing",
            created_at=now,
            execution_id=execution_id,
            instance_id=self.gate.instance.instance_id,
        )
        admitted = Admitted(
            org_id=row.org_id,
            agent_id=row.agent_id,
            agent_name=decided.identity.agent_name,
            action_id=row.action_id,
            execution_id=execution_id,
            approval_id=None,
            started_at=now,
            exemption_id=exemption_id,
        )
        return admitted, row

    def _result(
        self, decided: Decided, admitted: Admitted, row: ActionRow, outcome: RecordingOutcome
    ) -> Admitted | RecordingOutcome:
        if outcome is not RecordingOutcome.RECORDED:
            self.gate.instance.ended(admitted.execution_id)
            return outcome
        self.gate.shadow(decided, row.action_id, row.created_at)
        return admitted
