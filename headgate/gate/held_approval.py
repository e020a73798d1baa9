"""The approval of a held call's digest: used, opened or joined (semantics.md, "Retry, use, expiry").

Each step looks at the newest one and acts on it in one statement that checks that it is still so.
"""

from dataclasses import dataclass
from datetime import datetime

from headgate.actions.instance import Instance
from headgate.actions.recording_store import RecordingOutcome
from headgate.agents.own_limits import most_open_approvals
from headgate.approvals.gate_store import (
    UseRow,
    hold_action,
    record_retry,
    use_approval,
)
from headgate.approvals.model import Approval, ApprovalStatus, RetryAnswer, answer_for_retry, state_at
from headgate.approvals.store import newest_for_digest
from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Connection, Database
from headgate.gate.admitted import Admitted
from headgate.gate.finish_execution import ExecutionEnds
from headgate.gate.held_call import HeldCall
from headgate.gate.pipeline import Again, Decided
from headgate.gate.record_rows import RecordedObserver, attention_of, hold_row, retried_payload, started_payload
from headgate.gate.refusals import ClientGoneError, denied_error, expired_error, not_recorded
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.store import generation as stored_generation
from headgate.policies.model import requirements_cover


@dataclass(frozen=True, slots=True)
class Pending:
    """An approval that nobody has decided yet."""

    approval_id: str
    action_id: str
    expires_at: datetime


class HeldApprovals:
    """Those of one proxy process. ``expires_seconds``: where no policy names a time."""

    def __init__(
        self,
        *,
        database: Database,
        instance: Instance,
        ends: ExecutionEnds,
        clock: Clock,
        expires_seconds: int,
        most_open_approvals: int | None,
        shadow: RecordedObserver,
    ) -> None:
        self._database = database
        self._instance = instance
        self._ends = ends
        self._clock = clock
        self._expires_seconds = expires_seconds
        self._most_open_approvals = most_open_approvals
        self._shadow = shadow

    async def act(self, decided: Decided, held: HeldCall) -> Admitted | Again | Pending:
        """Use, open or join it; a pending one is then waited for.

        Raises ApprovalDeniedError, ClientGoneError, RateLimitedError, UnauthorizedError, UnavailableError.
        """
        if not held.client.connected:
            raise ClientGoneError("the client has gone; the approval stays open")
        found = await self._find(decided, held)
        return await self._use(decided, found) if isinstance(found, Approval) else found

    async def _find(self, decided: Decided, held: HeldCall) -> Approval | Again | Pending:
        """An Approval that comes back is approved, unused, and holds what the policies of now demand."""
        identity, candidate, decision = decided.identity, decided.candidate, decided.decision
        async with self._database.transaction(identity.org_id) as connection:
            newest = await newest_for_digest(connection, identity.org_id, candidate.agent_id, candidate.digest)
            answer = answer_for_retry(newest, self._clock())
            outgrown = newest is not None and not requirements_cover(newest.requirements, decision.requirements)
            if newest is not None and newest.approval_id == held.approval_id and _ran_out(newest, self._clock()):
                # Asking anew by itself, each time, would bury the reviewers; the agent may.
                raise expired_error(newest)
            if newest is None or answer is RetryAnswer.ANEW:
                return await self._open(connection, decided, newest, None)
            if answer is RetryAnswer.DENIED:
                raise denied_error(newest)
            if outgrown:
                # The policies of now demand more than this approval holds: it gives way to one that does.
                return await self._open(connection, decided, newest, answer)
            if answer is RetryAnswer.USE:
                return newest
            if await stored_generation(connection, identity.org_id) != identity.generation:
                # Nothing is written where a call only goes on waiting, so nothing else compares: the policies of
                # now may refuse it, or demand more than the approval that it waits for.
                return Again.STALE
            if held.approval_id != newest.approval_id:
                now = self._clock()
                payload = retried_payload(identity, newest.approval_id)
                await record_retry(connection, identity.org_id, newest.approval_id, newest.agent_id, now, payload)
                held.approval_id = newest.approval_id
            return Pending(newest.approval_id, newest.action_id, newest.expires_at)

    async def _open(
        self,
        connection: Connection,
        decided: Decided,
        previous: Approval | None,
        outgrown: RetryAnswer | None,
    ) -> Again | Pending:
        now = self._clock()
        superseded = None
        if previous is not None and outgrown is RetryAnswer.HOLD:
            superseded = payload_text(SYSTEM, {"approval_id": previous.approval_id, "reason": "policies ask for more"})
        row = hold_row(
            decided,
            created_at=now,
            default_expires_seconds=self._expires_seconds,
            previous_approval_id=None if previous is None else previous.approval_id,
            superseded=superseded,
        )
        most_open = most_open_approvals(decided.identity, self._most_open_approvals)
        attention = attention_of(decided.decision, row)
        outcome = await hold_action(connection, row, most_open=most_open, attention=attention)
        if outcome is not RecordingOutcome.RECORDED:
            return not_recorded(outcome)
        self._shadow(decided, row.action_id, now)
        return Pending(row.approval_id, row.action_id, row.expires_at)

    async def _use(self, decided: Decided, approval: Approval) -> Admitted | Again:
        identity = decided.identity
        execution_id, now = new_id(IdPrefix.EXECUTION), self._clock()
        admitted = Admitted(
            identity.org_id, approval.agent_id, approval.action_id, execution_id, approval.approval_id, now
        )
        row = UseRow(
            org_id=identity.org_id,
            generation=identity.generation,
            approval_id=approval.approval_id,
            agent_id=approval.agent_id,
            digest=decided.candidate.digest,
            execution_id=execution_id,
            instance_id=self._instance.instance_id,
            at=now,
            redecided=_redecided_payload(decided, approval),
            started=started_payload(identity, execution_id, self._instance.instance_id, approval.approval_id),
        )
        with self._ends.claiming(admitted, self._clock):
            async with self._database.transaction(identity.org_id) as connection:
                outcome = await use_approval(connection, row)
        if outcome is RecordingOutcome.RECORDED:
            return admitted
        self._instance.ended(execution_id)
        return not_recorded(outcome)


def _redecided_payload(decided: Decided, approval: Approval) -> str:
    """``decision.made`` once more, of the moment of use: it asks for approval, and this is the approval that it asks
    for. Without saying so the record would read as if the call had gone through in spite of it."""
    data: JsonObject = {
        **decided.decision.record(),
        "generation": decided.identity.generation,
        "evaluated_for": "use",
        "matched_by": approval.approval_id,
    }
    return payload_text(SYSTEM, data)


def _ran_out(approval: Approval, now: datetime) -> bool:
    return state_at(approval, now) is ApprovalStatus.EXPIRED
