"""An explicit action: decided, recorded, and answered; the same policies, index and record as a call.

One that has a call is kept, and queued in the transaction that allows it; its worker carries it out. One whose tool has
no executor stays allowed or approved, and the agent runs it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from headgate.actions.model import ActionStatus
from headgate.actions.recording_store import ActionRow, RecordOutcome, record_action
from headgate.actions.store import IdempotentAction, by_idempotency_key
from headgate.agents.authenticate import KeyRing
from headgate.agents.model import KeyIdentity
from headgate.agents.own_limits import most_open_approvals
from headgate.approvals.gate_store import HoldOutcome, hold_action
from headgate.db.database import Connection, Database
from headgate.executions.keep_call import ALLOWED_PRIORITY, keep_call, queue_call
from headgate.gate.caller import MOST_DECISIONS, UNSETTLED, Caller, agree
from headgate.gate.decide_action import (
    Candidate,
    RecordedObserver,
    Submission,
    action_row,
    attention_of,
    candidate_for,
    hold_row,
    observe_nothing,
)
from headgate.gate.exempt_call import Exemptions
from headgate.gate.fair_decisions import FairDecisions
from headgate.gate.judge_content import ContentJudge
from headgate.gate.judge_destination import blocked_destination
from headgate.gate.organization_state import OrganizationStates
from headgate.gate.record_batch import Recorder
from headgate.gate.use_connection import with_connection
from headgate.grants.exemption_store import ExemptionOutcome
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, UnauthorizedError, UnavailableError
from headgate.kernel.fair_turns import FairTurns
from headgate.kernel.secrets import Secret
from headgate.policies.model import Decision, Verdict
from headgate.protocols.draft import ActionDraft
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault

INLINE_ACTION_BYTES_MAX: Final = 16 << 10
"""Of lists in a list, a millisecond for each of three steps."""


@dataclass(frozen=True, slots=True)
class SubmittedAction:
    """What the agent is told of a new action."""

    action_id: str
    status: ActionStatus
    decision: Decision
    approval_id: str | None
    created_at: datetime
    execution_id: str | None = None


@dataclass(frozen=True, slots=True)
class DuplicateAction:
    """The idempotency key was used before, for the same body: the original's current state is the answer."""

    action_id: str


class SubmitAction:
    """The use case behind POST /v1/actions."""

    def __init__(
        self,
        *,
        states: OrganizationStates,
        keys: KeyRing,
        recorder: Recorder,
        database: Database,
        clock: Clock,
        content: ContentJudge,
        exemptions: Exemptions,
        vault: Vault,
        catalogue: CatalogueIndex,
        approval_expires_seconds: int,
        most_open_approvals: int | None,
        shadow: RecordedObserver = observe_nothing,
        decisions: FairDecisions,
    ) -> None:
        self._decisions = decisions
        self._readings = FairTurns(1, "the reading of a large action", rests=True)
        self._shadow = shadow
        self._most_open_approvals = most_open_approvals
        self._states = states
        self._keys = keys
        self._recorder = recorder
        self._database = database
        self._clock = clock
        self._content = content
        self._exemptions = exemptions
        self._vault = vault
        self._catalogue = catalogue
        self._approval_expires_seconds = approval_expires_seconds

    async def read[**Given, Made](
        self, identity: KeyIdentity, size: int, make: Callable[Given, Made], *given: Given.args, **named: Given.kwargs
    ) -> Made:
        """What ``make`` makes of ``size`` bytes of this agent's: of many in a thread, one after the other, in fair
        turns. Raises UnavailableError, and what ``make`` raises."""
        if size <= INLINE_ACTION_BYTES_MAX:
            return make(*given, **named)
        async with self._readings.turn(identity.org_id, identity.agent_id or ""):
            return await asyncio.to_thread(make, *given, **named)

    async def submit(
        self, key: Secret, identity: KeyIdentity, draft: ActionDraft, submission: Submission
    ) -> SubmittedAction | DuplicateAction:
        """Raises UnauthorizedError, ConflictError (the key was used for another body), RateLimitedError (too many
        approvals of this agent are open), NoConnectionError, BrokenConnectionError, UnavailableError."""
        caller = Caller(key, identity)
        submitted = await self.read(identity, len(draft.params_bytes), candidate_for, identity, draft, submission)
        for _ in range(MOST_DECISIONS):
            state = await agree(caller, self._states, self._keys, self._clock)
            candidate = with_connection(submitted, state.connections, identity.org_id)
            blocked = blocked_destination(candidate.draft, state.allowlist)
            decision = blocked or await self._decisions.decide(state, candidate)
            if state.nlp_policies and decision.verdict is not Verdict.DENY:
                decision = await self._content.tightened(state, candidate, decision)
            # The guard is no policy: nobody permits around it.
            if blocked is None and decision.verdict is not Verdict.ALLOW and state.has_exemptions:
                exempt = await self._exemptions.submit(
                    state, caller.identity, candidate, decision, partial(self._to_run, candidate)
                )
                if exempt is not None and exempt.outcome is ExemptionOutcome.USED:
                    return SubmittedAction(
                        exempt.action_id, ActionStatus.ALLOWED, exempt.decision, None, exempt.at, exempt.execution_id
                    )
                if exempt is not None and exempt.outcome is ExemptionOutcome.DUPLICATE:
                    return await self._original(caller.identity, candidate)
                if exempt is not None:
                    await self._states.newer_than(state)
                    continue
            if decision.verdict is Verdict.REQUIRE_APPROVAL:
                answer = await self._hold(caller.identity, candidate, decision)
            else:
                answer = await self._record(caller.identity, candidate, decision)
            if answer is not None:
                return answer
            await self._states.newer_than(state)
        raise UnavailableError(UNSETTLED, retry_after_seconds=1)

    async def _record(
        self, identity: KeyIdentity, candidate: Candidate, decision: Decision
    ) -> SubmittedAction | DuplicateAction | None:
        """None: the state moved meanwhile, nothing was recorded."""
        now = self._clock()
        status = ActionStatus.ALLOWED if decision.verdict is Verdict.ALLOW else ActionStatus.DENIED
        row = action_row(identity, candidate, decision, status=status.value, created_at=now)
        execution_id = None
        if status is ActionStatus.ALLOWED and candidate.draft.call is not None:
            outcome, execution_id = await self._record_to_run(row, candidate)
        else:
            outcome = await self._recorder.submit_action(row)
        match outcome:
            case RecordOutcome.RECORDED:
                self._shadow(identity, candidate, decision, row.action_id, now)
                return SubmittedAction(row.action_id, status, decision, None, now, execution_id)
            case RecordOutcome.STALE:
                return None
            case RecordOutcome.DUPLICATE:
                return await self._original(identity, candidate)
            case RecordOutcome.UNKNOWN:
                raise UnauthorizedError("the agent of this key is no longer active")

    async def _record_to_run(self, row: ActionRow, candidate: Candidate) -> tuple[RecordOutcome, str | None]:
        async with self._database.transaction(row.org_id) as connection:
            outcome = await record_action(connection, row)
            if outcome is not RecordOutcome.RECORDED:
                return outcome, None
            return outcome, await self._to_run(candidate, connection, row)

    async def _to_run(self, candidate: Candidate, connection: Connection, row: ActionRow) -> str | None:
        """Kept and queued, where it has a call; the execution's id."""
        await keep_call(
            connection, row.org_id, row.action_id, row.agent_id, candidate.draft, self._vault, self._catalogue
        )
        return await queue_call(connection, row.org_id, row.action_id, row.created_at, priority=ALLOWED_PRIORITY)

    async def _hold(
        self, identity: KeyIdentity, candidate: Candidate, decision: Decision
    ) -> SubmittedAction | DuplicateAction | None:
        now = self._clock()
        row = hold_row(
            identity,
            candidate,
            decision,
            created_at=now,
            default_expires_seconds=self._approval_expires_seconds,
            previous_approval_id=None,
        )
        async with self._database.transaction(identity.org_id) as connection:
            outcome = await hold_action(
                connection,
                row,
                most_open=most_open_approvals(identity, self._most_open_approvals),
                attention=attention_of(decision, row),
            )
            if outcome is HoldOutcome.HELD:
                await keep_call(
                    connection, row.org_id, row.action_id, row.agent_id, candidate.draft, self._vault, self._catalogue
                )
        match outcome:
            case HoldOutcome.HELD:
                self._shadow(identity, candidate, decision, row.action_id, now)
                return SubmittedAction(row.action_id, ActionStatus.PENDING_APPROVAL, decision, row.approval_id, now)
            case HoldOutcome.STALE:
                return None
            case HoldOutcome.DUPLICATE:
                return await self._original(identity, candidate)
            case HoldOutcome.UNKNOWN:
                raise UnauthorizedError("the agent of this key is no longer active")
            case HoldOutcome.CHANGED:  # only intercepted calls share approvals
                raise ConflictError("the approval changed while it was requested; try again")

    async def _original(self, identity: KeyIdentity, candidate: Candidate) -> DuplicateAction:
        key = candidate.submission.idempotency_key or ""
        async with self._database.transaction(identity.org_id) as connection:
            original: IdempotentAction | None = await by_idempotency_key(
                connection, identity.org_id, candidate.agent_id, key
            )
        if original is None:
            raise UnavailableError(
                "the first use of this idempotency key is not visible yet; try again", retry_after_seconds=1
            )
        if original.request_digest != candidate.submission.request_digest:
            raise ConflictError(
                "this idempotency_key was used for another request",
                details={"field": "idempotency_key", "action_id": original.action_id},
            )
        return DuplicateAction(original.action_id)
