"""Uses, opens or joins the approval of a held call's digest (semantics.md, "Retry, use, expiry").

Each step acts on the newest approval of the digest, in one statement that checks that it is still the newest.
"""

import asyncio
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from headgate.actions.instance import Instance
from headgate.actions.recording_store import RecordingOutcome
from headgate.actions.unparsed_body import has_unparsed_body, with_unparsed_body
from headgate.agents.own_limits import most_open_approvals
from headgate.approvals.gate_store import HoldRow, UseRow, hold_action, hold_terms, record_retry, too_many_open
from headgate.approvals.model import Approval, ApprovalStatus, RetryAnswer, answer_for_retry, state_at
from headgate.approvals.store import newest_for_digest
from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Connection, Database
from headgate.gate.admitted import Admitted
from headgate.gate.finish_execution import ExecutionEnds
from headgate.gate.held_call import HeldCall, Pending
from headgate.gate.pipeline import DecideAgain, Decided
from headgate.gate.record_batch import LARGE_BYTES, GateRecorder
from headgate.gate.record_rows import (
    RecordedObserver,
    attention_of,
    hold_row,
    redecided_payload,
    retried_payload,
    started_payload,
)
from headgate.gate.refusals import ClientGoneError, denied_error, expired_error, not_recorded
from headgate.kernel.clock import Clock
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.store import generation as stored_generation
from headgate.policies.model import requirements_cover

_INLINE_BYTES_MAX: Final = 64 << 10
"""A larger body is masked and encoded in a thread."""


class HeldApprovals:
    """Those of one proxy process. ``expires_seconds``: where no policy names a time."""

    def __init__(
        self,
        *,
        database: Database,
        recorder: GateRecorder,
        instance: Instance,
        ends: ExecutionEnds,
        clock: Clock,
        expires_seconds: int,
        most_open_approvals: int | None,
        shadow: RecordedObserver,
    ) -> None:
        self._database = database
        self._recorder = recorder
        self._instance = instance
        self._ends = ends
        self._clock = clock
        self._expires_seconds = expires_seconds
        self._most_open_approvals = most_open_approvals
        self._shadow = shadow

    async def act(self, decided: Decided, held: HeldCall) -> Admitted | DecideAgain | Pending:
        """Use, open or join it; a pending one is then waited for.

        Raises ApprovalDeniedError, ClientGoneError, RateLimitedError, UnauthorizedError, UnavailableError.
        """
        if not held.client.connected:
            raise ClientGoneError("the client has gone; the approval stays open")
        if held.pending is None:
            opened = await self._open_at_once(decided, held)
            if opened is not None:
                return opened
        elif requirements_cover(held.pending.requirements, decided.decision.requirements):
            used = await self._use(decided, held.pending)
            if used is not DecideAgain.AWAKE:
                return used
        found = await self._find(decided, held)
        return await self._use(decided, _pending(found)) if isinstance(found, Approval) else found

    async def _find(self, decided: Decided, held: HeldCall) -> Approval | DecideAgain | Pending:
        """An Approval that comes back is approved, unused, and holds what the current policies demand."""
        identity, candidate, decision = decided.identity, decided.candidate, decided.decision
        async with self._database.transaction(identity.org_id) as connection:
            newest = await newest_for_digest(connection, identity.org_id, candidate.agent_id, candidate.digest)
            answer = answer_for_retry(newest, self._clock())
            outgrown = newest is not None and not requirements_cover(newest.requirements, decision.requirements)
            if newest is not None and newest.approval_id == held.approval_id and _ran_out(newest, self._clock()):
                # Asking anew by itself, each time, would bury the reviewers; the agent may.
                raise expired_error(newest)
            if newest is None or answer is RetryAnswer.ANEW:
                return await self._open(connection, decided, held, newest, None)
            if answer is RetryAnswer.DENIED:
                raise denied_error(newest)
            if outgrown:
                # The current policies demand more than this approval holds: it gives way to one that does.
                return await self._open(connection, decided, held, newest, answer)
            if answer is RetryAnswer.USE:
                return newest
            if await stored_generation(connection, identity.org_id) != identity.generation:
                # Nothing is written where a call only goes on waiting, so nothing else compares: the policies of
                # now may refuse it, or demand more than the approval that it waits for.
                return DecideAgain.STALE
            if held.approval_id != newest.approval_id:
                now = self._clock()
                payload = retried_payload(identity, newest.approval_id)
                ids = identity.org_id, newest.approval_id, newest.agent_id
                await record_retry(connection, *ids, now, payload, held.until(now), action_id=newest.action_id)
                held.pending = _pending(newest)
            return _pending(newest)

    async def _open_at_once(self, decided: Decided, held: HeldCall) -> DecideAgain | Pending | None:
        """In one batch with other calls, as if none had been made like it. None: there was one, or it is large.

        Raises RateLimitedError, UnauthorizedError, UnavailableError.
        """
        whole = await _with_body(decided)
        if len(whole.candidate.request) > LARGE_BYTES:
            return None
        row = self._row(whole, None, None)
        most_open = most_open_approvals(decided.identity, self._most_open_approvals)
        terms = hold_terms(most_open, attention_of(decided.decision, row), held.until(row.created_at))
        outcome = await self._recorder.submit_hold(row, terms)
        match outcome:
            case RecordingOutcome.RECORDED:
                return self._opened(decided, row)
            case RecordingOutcome.CHANGED:
                return None
            case RecordingOutcome.FULL:
                raise too_many_open(most_open)
        return not_recorded(outcome)

    def _row(self, decided: Decided, previous: Approval | None, superseded: str | None) -> HoldRow:
        return hold_row(
            decided,
            created_at=self._clock(),
            default_expires_seconds=self._expires_seconds,
            previous_approval_id=None if previous is None else previous.approval_id,
            superseded=superseded,
        )

    def _opened(self, decided: Decided, row: HoldRow) -> Pending:
        self._shadow(decided, row.action_id, row.created_at)
        return Pending(row.approval_id, row.action_id, row.expires_at, decided.decision.requirements)

    async def _open(
        self,
        connection: Connection,
        decided: Decided,
        held: HeldCall,
        previous: Approval | None,
        outgrown: RetryAnswer | None,
    ) -> DecideAgain | Pending:
        superseded = None
        if previous is not None and outgrown is RetryAnswer.HOLD:
            superseded = payload_text(SYSTEM, {"approval_id": previous.approval_id, "reason": "policies ask for more"})
        row = self._row(await _with_body(decided), previous, superseded)
        most_open = most_open_approvals(decided.identity, self._most_open_approvals)
        attention, held_until = attention_of(decided.decision, row), held.until(row.created_at)
        outcome = await hold_action(connection, row, most_open=most_open, attention=attention, held_until=held_until)
        if outcome is not RecordingOutcome.RECORDED:
            return not_recorded(outcome)
        return self._opened(decided, row)

    async def _use(self, decided: Decided, pending: Pending) -> Admitted | DecideAgain:
        identity, agent_id = decided.identity, decided.candidate.agent_id
        execution_id, now = new_id(IdPrefix.EXECUTION), self._clock()
        admitted = Admitted(
            org_id=identity.org_id,
            agent_id=agent_id,
            agent_name=identity.agent_name,
            action_id=pending.action_id,
            execution_id=execution_id,
            approval_id=pending.approval_id,
            started_at=now,
        )
        row = UseRow(
            org_id=identity.org_id,
            generation=identity.generation,
            approval_id=pending.approval_id,
            agent_id=agent_id,
            digest=decided.candidate.digest,
            execution_id=execution_id,
            instance_id=self._instance.instance_id,
            at=now,
            redecided=redecided_payload(decided, pending.approval_id),
            started=started_payload(identity, execution_id, self._instance.instance_id, pending.approval_id),
        )
        with self._ends.claiming(admitted, self._clock):
            outcome = await self._recorder.submit_use(row, action_id=pending.action_id)
        if outcome is RecordingOutcome.RECORDED:
            return admitted
        self._instance.ended(execution_id)
        return not_recorded(outcome)


async def _with_body(decided: Decided) -> Decided:
    """With the bytes of the body that the params do not show, for the people who are asked."""
    candidate = decided.candidate
    call = candidate.draft.call
    if call is None or not has_unparsed_body(candidate.draft):
        return decided
    if len(call.body) > _INLINE_BYTES_MAX:
        request = await asyncio.to_thread(with_unparsed_body, candidate.request, call)
    else:
        request = with_unparsed_body(candidate.request, call)
    return replace(decided, candidate=replace(candidate, request=request))


def _pending(approval: Approval) -> Pending:
    return Pending(approval.approval_id, approval.action_id, approval.expires_at, approval.requirements)


def _ran_out(approval: Approval, now: datetime) -> bool:
    return state_at(approval, now) is ApprovalStatus.EXPIRED
