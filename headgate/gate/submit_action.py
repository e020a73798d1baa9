"""Takes an explicit action through the pipeline: the same policies and record as an intercepted call.

An action with a call is kept and queued in the transaction that allows it, and the worker carries it out. An action
whose tool has no executor stays allowed or approved, and the agent carries it out.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from msgspec import Struct

from headgate.actions.model import ActionStatus
from headgate.actions.recorded_entry import ActionRow
from headgate.actions.recording_store import RecordingOutcome, record_action
from headgate.actions.store import IdempotentAction, by_idempotency_key
from headgate.agents.model import KeyIdentity
from headgate.agents.own_limits import most_open_approvals
from headgate.approvals.gate_store import HoldRow, hold_action
from headgate.db.database import Connection, Database
from headgate.executions.keep_call import ALLOWED_PRIORITY, keep_call, queue_call
from headgate.gate.caller import Caller, Callers
from headgate.gate.candidate import BoundCandidate, Candidate, Submission, candidate_for, with_connection
from headgate.gate.exempt_call import exempted, first_usable
from headgate.gate.masked_call import masked_call, not_charged
from headgate.gate.organization_state import OrganizationState
from headgate.gate.pipeline import DecideAgain, Decided, DecisionPipeline, Masked, pass_through
from headgate.gate.record_batch import Recorder
from headgate.gate.record_rows import RecordedObserver, action_row, attention_of, hold_row, observe_nothing
from headgate.gate.refusals import not_recorded
from headgate.gate.tool_change import with_tool_change
from headgate.grants.exemption_store import Exemption, use_exemption
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.kernel.fair_turns import FairTurns
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.recall import NOTHING_RECALLED, Recalled
from headgate.policies.model import Decision, Verdict
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall
from headgate.tools.explicit import with_body
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault

INLINE_ACTION_BYTES_MAX: Final = 16 << 10
"""Of lists in a list, a millisecond for each of three steps."""


class SubmittedAction(Struct, frozen=True):
    """The answer for a new action."""

    action_id: str
    status: ActionStatus
    decision: Decision
    approval_id: str | None
    created_at: datetime
    execution_id: str | None = None


class DuplicateAction(Struct, frozen=True):
    """The idempotency key was used before, for the same body: the original's current state is the answer."""

    action_id: str


class SubmitAction:
    """The use case behind POST /v1/actions."""

    def __init__(
        self,
        *,
        pipeline: DecisionPipeline,
        callers: Callers,
        recorder: Recorder,
        database: Database,
        clock: Clock,
        vault: Vault,
        catalogue: CatalogueIndex,
        approval_expires_seconds: int,
        most_open_approvals: int | None,
        shadow: RecordedObserver = observe_nothing,
    ) -> None:
        self._readings = FairTurns(1, "the reading of a large action", rests=True)
        self._pipeline = pipeline
        self._callers = callers
        self._recorder = recorder
        self._database = database
        self._clock = clock
        self._vault = vault
        self._catalogue = catalogue
        self._approval_expires_seconds = approval_expires_seconds
        self._most_open_approvals = most_open_approvals
        self._shadow = shadow

    async def read[**Given, Made](
        self, identity: KeyIdentity, size: int, make: Callable[Given, Made], *given: Given.args, **named: Given.kwargs
    ) -> Made:
        """What ``make`` makes of ``size`` bytes of this agent's: of many in a thread, one after the other, in fair
        turns. Raises UnavailableError, and what ``make`` raises."""
        if size <= INLINE_ACTION_BYTES_MAX:
            return make(*given, **named)
        async with self._readings.turn(identity.org_id, identity.agent_id or "") as turn:
            return await turn.in_thread(make, *given, **named)

    async def submit(
        self, key: Secret, identity: KeyIdentity, draft: ActionDraft, submission: Submission
    ) -> SubmittedAction | DuplicateAction:
        """Raises UnauthorizedError, ConflictError (the key was used for another body), RateLimitedError (too many
        approvals of this agent are open), NoConnectionError, BrokenConnectionError, UnavailableError."""
        submitted = await self.read(identity, len(draft.params_bytes), candidate_for, identity, draft, submission)
        return await pass_through(
            self._pipeline, self._callers, Caller(key, identity), self, partial(_bind, identity, submitted)
        )

    async def recall(self, identity: KeyIdentity, candidate: BoundCandidate) -> Recalled:
        return NOTHING_RECALLED

    async def masked(self, state: OrganizationState, identity: KeyIdentity, decided: Decided) -> Masked | None:
        """None for what the agent carries out itself: it has the params already."""
        draft, submission = decided.candidate.draft, decided.candidate.submission

        async def read(call: HttpCall, body: bytes) -> Candidate:
            masked = await self.read(identity, len(body), with_body, draft, call, body, self._catalogue)
            return await self.read(identity, len(body), candidate_for, identity, masked, submission)

        bind = partial(_bind, identity, state=state)
        return await masked_call(decided.candidate, decided.decision.to_mask, read, bind, not_charged)

    async def exempt(self, decided: Decided) -> SubmittedAction | DuplicateAction | DecideAgain | None:
        return await first_usable(decided, self._clock(), partial(self._claim, decided))

    async def _claim(
        self, decided: Decided, exemption: Exemption
    ) -> SubmittedAction | DuplicateAction | RecordingOutcome:
        allowed = exempted(decided, exemption)
        row = action_row(allowed, status=ActionStatus.ALLOWED.value, created_at=self._clock())
        execution_id = None
        async with self._database.transaction(row.org_id) as connection:
            outcome = await use_exemption(connection, exemption, row)
            if outcome is RecordingOutcome.RECORDED:
                execution_id = await self._to_run(decided, connection, row)
        if outcome is RecordingOutcome.RECORDED:
            self._shadow(decided, row.action_id, row.created_at)
            return _submitted(row, ActionStatus.ALLOWED, allowed.decision, execution_id=execution_id)
        return await self._original(decided) if outcome is RecordingOutcome.DUPLICATE else outcome

    async def record(self, decided: Decided) -> SubmittedAction | DuplicateAction | DecideAgain:
        status = ActionStatus.ALLOWED if decided.decision.verdict is Verdict.ALLOW else ActionStatus.DENIED
        row = action_row(decided, status=status.value, created_at=self._clock())
        execution_id = None
        if status is ActionStatus.ALLOWED and decided.candidate.draft.call is not None:
            async with self._database.transaction(row.org_id) as connection:
                outcome = await record_action(connection, row)
                if outcome is RecordingOutcome.RECORDED:
                    execution_id = await self._to_run(decided, connection, row)
        else:
            outcome = await self._recorder.submit_action(row)
        if outcome is RecordingOutcome.RECORDED:
            self._shadow(decided, row.action_id, row.created_at)
            return _submitted(row, status, decided.decision, execution_id=execution_id)
        return await self._original(decided) if outcome is RecordingOutcome.DUPLICATE else not_recorded(outcome)

    async def hold(self, decided: Decided) -> SubmittedAction | DuplicateAction | DecideAgain:
        row = hold_row(
            decided,
            created_at=self._clock(),
            default_expires_seconds=self._approval_expires_seconds,
            previous_approval_id=None,
        )
        async with self._database.transaction(row.org_id) as connection:
            outcome = await hold_action(
                connection,
                row,
                most_open=most_open_approvals(decided.identity, self._most_open_approvals),
                attention=attention_of(decided.decision, row),
            )
            if outcome is RecordingOutcome.RECORDED:
                await self._keep(decided, connection, row)
        if outcome is RecordingOutcome.RECORDED:
            self._shadow(decided, row.action_id, row.created_at)
            return _submitted(row, ActionStatus.PENDING_APPROVAL, decided.decision, approval_id=row.approval_id)
        return await self._original(decided) if outcome is RecordingOutcome.DUPLICATE else not_recorded(outcome)

    async def _to_run(self, decided: Decided, connection: Connection, row: ActionRow) -> str | None:
        """Kept and queued, where it has a call; the execution's id."""
        await self._keep(decided, connection, row)
        return await queue_call(connection, row.org_id, row.action_id, row.created_at, priority=ALLOWED_PRIORITY)

    async def _keep(self, decided: Decided, connection: Connection, row: ActionRow | HoldRow) -> None:
        draft = decided.candidate.draft
        await keep_call(connection, row.org_id, row.action_id, row.agent_id, draft, self._vault, self._catalogue)

    async def _original(self, decided: Decided) -> DuplicateAction:
        submission, org_id = decided.candidate.submission, decided.identity.org_id
        async with self._database.transaction(org_id) as connection:
            original: IdempotentAction | None = await by_idempotency_key(
                connection, org_id, decided.candidate.agent_id, submission.idempotency_key or ""
            )
        if original is None:
            raise UnavailableError(
                "the first use of this idempotency key is not visible yet; try again", retry_after_seconds=1
            )
        if original.request_digest != submission.request_digest:
            raise ConflictError(
                "this idempotency_key was used for another request",
                details={"field": "idempotency_key", "action_id": original.action_id},
            )
        return DuplicateAction(original.action_id)


async def _bind(identity: KeyIdentity, submitted: Candidate, state: OrganizationState) -> BoundCandidate:
    changed = with_tool_change(submitted, state, identity.agent_name or "")
    return with_connection(changed, state.connections, state.org_id)


def _submitted(
    row: ActionRow | HoldRow,
    status: ActionStatus,
    decision: Decision,
    *,
    approval_id: str | None = None,
    execution_id: str | None = None,
) -> SubmittedAction:
    return SubmittedAction(row.action_id, status, decision, approval_id, row.created_at, execution_id)
