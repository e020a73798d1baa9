"""Holding a call until a human decides (semantics.md, "Retry, use, expiry").

One step at a time: each looks at the newest approval of the call's digest, acts on it in one statement that
checks that it is still so, or waits for a wake-up. Between steps the caller decides again by the policies of
now, so that an approval is used only where they still agree.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Protocol

from headgate.agents.model import KeyIdentity
from headgate.approvals.gate_store import (
    HoldOutcome,
    UseOutcome,
    UseRow,
    hold_action,
    record_retry,
    use_approval,
)
from headgate.approvals.model import Approval, ApprovalStatus, RetryAnswer, answer_for_retry, state_at
from headgate.approvals.store import newest_for_digest
from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Connection, Database
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, UnauthorizedError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.store import generation as stored_generation
from headgate.policies.model import Decision, requirements_cover
from headgate.workflows.admitted import Admitted
from headgate.workflows.decide_action import (
    Candidate,
    RecordedObserver,
    hold_row,
    observe_nothing,
    retried_payload,
    started_payload,
)
from headgate.workflows.finish_execution import ExecutionEnds, not_confirmed
from headgate.workflows.instance import Instance
from headgate.workflows.refusals import ClientGoneError, denied_error, expired_error, pending_error
from headgate.workflows.wake_ups import Waiter, WakeUps


class Client(Protocol):
    """Whoever waits for the answer, as the enforcement point sees it."""

    @property
    def connected(self) -> bool: ...


class Again(Enum):
    """No answer yet. ``STALE``: the state moved; ``AWAKE``: something happened to the approval."""

    STALE = "stale"
    AWAKE = "awake"


@dataclass(slots=True)
class HeldCall:
    """One request while it is held: who waits, for which approval, until when (the event loop's clock)."""

    client: Client
    waiter: Waiter = field(default_factory=Waiter)
    approval_id: str | None = None
    deadline_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HoldTimes:
    """Defaults where no policy names a time, and where an agent asks about an action."""

    hold_seconds: float
    approval_expires_seconds: int
    public_api_url: str


class Holds:
    """The held calls of one proxy process."""

    def __init__(
        self,
        *,
        database: Database,
        wake_ups: WakeUps,
        instance: Instance,
        ends: ExecutionEnds,
        clock: Clock,
        times: HoldTimes,
        most_open_approvals: int | None,
        shadow: RecordedObserver = observe_nothing,
    ) -> None:
        self._shadow = shadow
        self._most_open_approvals = most_open_approvals
        self._ends = ends
        self._database = database
        self._wake_ups = wake_ups
        self._instance = instance
        self._clock = clock
        self._times = times
        self._is_stopping = False

    def release(self) -> None:
        """This process stops: whoever is held is told to send the call again, instead of being cut off."""
        self._is_stopping = True
        self._wake_ups.wake_all()

    async def step(
        self, identity: KeyIdentity, candidate: Candidate, decision: Decision, held: HeldCall
    ) -> Admitted | Again:
        """Raises ApprovalPendingError, ApprovalDeniedError, ClientGoneError, RateLimitedError, UnauthorizedError,
        UnavailableError.

        ``decision`` asks for approval, by the policies of ``identity.generation``.
        """
        if held.deadline_seconds is None:
            hold_seconds = self._times.hold_seconds if decision.hold_seconds is None else decision.hold_seconds
            held.deadline_seconds = asyncio.get_running_loop().time() + hold_seconds
        if held.approval_id is None:
            acted = await self._act(identity, candidate, decision, held)
        else:
            # In the order in which they came: the first that is still connected uses the approval.
            async with self._wake_ups.turn(held.approval_id):
                acted = await self._act(identity, candidate, decision, held)
        return await self._wait(acted, decision, held) if isinstance(acted, _Pending) else acted

    async def _act(
        self, identity: KeyIdentity, candidate: Candidate, decision: Decision, held: HeldCall
    ) -> "Admitted | Again | _Pending":
        """Use, open or join the approval of this digest; a pending one is then waited for."""
        if not held.client.connected:
            raise ClientGoneError("the client has gone; the approval stays open")
        found = await self._find(identity, candidate, decision, held)
        return await self._use(identity, candidate, decision, found) if isinstance(found, Approval) else found

    async def _find(
        self, identity: KeyIdentity, candidate: Candidate, decision: Decision, held: HeldCall
    ) -> "Approval | Again | _Pending":
        """An Approval that comes back is approved, unused, and holds what the policies of now demand."""
        async with self._database.transaction(identity.org_id) as connection:
            newest = await newest_for_digest(connection, identity.org_id, candidate.agent_id, candidate.digest)
            answer = answer_for_retry(newest, self._clock())
            outgrown = newest is not None and not requirements_cover(newest.requirements, decision.requirements)
            if newest is not None and newest.approval_id == held.approval_id and _ran_out(newest, self._clock()):
                # Asking anew by itself, each time, would bury the reviewers; the agent may.
                raise expired_error(newest)
            if newest is None or answer is RetryAnswer.ANEW:
                return await self._open(connection, identity, candidate, decision, newest, None)
            if answer is RetryAnswer.DENIED:
                raise denied_error(newest)
            if outgrown:
                # The policies of now demand more than this approval holds: it gives way to one that does.
                return await self._open(connection, identity, candidate, decision, newest, answer)
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
            return _Pending(newest.approval_id, newest.action_id, newest.expires_at)

    async def _open(
        self,
        connection: Connection,
        identity: KeyIdentity,
        candidate: Candidate,
        decision: Decision,
        previous: Approval | None,
        outgrown: RetryAnswer | None,
    ) -> "Again | _Pending":
        now = self._clock()
        superseded = None
        if previous is not None and outgrown is RetryAnswer.HOLD:
            superseded = payload_text(SYSTEM, {"approval_id": previous.approval_id, "reason": "policies ask for more"})
        row = hold_row(
            identity,
            candidate,
            decision,
            created_at=now,
            default_expires_seconds=self._times.approval_expires_seconds,
            previous_approval_id=None if previous is None else previous.approval_id,
            superseded=superseded,
        )
        match await hold_action(connection, row, most_open=self._most_open_approvals):
            case HoldOutcome.HELD:
                self._shadow(identity, candidate, decision, row.action_id, now)
                return _Pending(row.approval_id, row.action_id, row.expires_at)
            case HoldOutcome.STALE:
                return Again.STALE
            case HoldOutcome.CHANGED:
                return Again.AWAKE
            case HoldOutcome.UNKNOWN:
                raise UnauthorizedError("the agent of this key is no longer active")
            case HoldOutcome.DUPLICATE:  # an intercepted call has no idempotency key of Headgate's
                raise ConflictError("the action was recorded already")

    async def _use(
        self, identity: KeyIdentity, candidate: Candidate, decision: Decision, approval: Approval
    ) -> Admitted | Again:
        execution_id, now = new_id(IdPrefix.EXECUTION), self._clock()
        admitted = Admitted(
            identity.org_id, approval.agent_id, approval.action_id, execution_id, approval.approval_id, now
        )
        self._instance.began(execution_id, now)
        row = UseRow(
            org_id=identity.org_id,
            generation=identity.generation,
            approval_id=approval.approval_id,
            agent_id=approval.agent_id,
            digest=candidate.digest,
            execution_id=execution_id,
            instance_id=self._instance.instance_id,
            at=now,
            redecided=_redecided_payload(identity, decision, approval),
            started=started_payload(identity, execution_id, self._instance.instance_id, approval.approval_id),
        )
        try:
            async with self._database.transaction(identity.org_id) as connection:
                outcome = await use_approval(connection, row)
        except BaseException:
            # Whether it was committed is unknown. Nothing is forwarded; if it was, the use is given back.
            self._ends.finish(admitted, not_confirmed(self._clock()))
            raise
        if outcome is UseOutcome.USED:
            return admitted
        self._instance.ended(execution_id)
        return Again.STALE if outcome is UseOutcome.STALE else Again.AWAKE

    async def _wait(self, pending: "_Pending", decision: Decision, held: HeldCall) -> Again:
        """Until a wake-up. Raises ApprovalPendingError at the hold's end, ClientGoneError without a client."""
        held.approval_id = pending.approval_id
        left_seconds = (held.deadline_seconds or 0.0) - asyncio.get_running_loop().time()
        if left_seconds <= 0 or self._is_stopping:
            raise pending_error(
                decision,
                action_id=pending.action_id,
                approval_id=pending.approval_id,
                expires_at=pending.expires_at,
                public_api_url=self._times.public_api_url,
            )
        # Nobody is told of an expiry by the clock; whoever waits sees it for himself.
        until_expiry = (pending.expires_at - self._clock()).total_seconds()
        async with self._wake_ups.waiting(pending.approval_id, held.waiter):
            await held.waiter.wait(min(left_seconds, max(until_expiry, 0.0)))
        if not held.client.connected:
            raise ClientGoneError("the client has gone; the approval stays open")
        # Also at the deadline: the approval is read once more before the agent is told to come back.
        return Again.AWAKE


@dataclass(frozen=True, slots=True)
class _Pending:
    approval_id: str
    action_id: str
    expires_at: datetime


def _redecided_payload(identity: KeyIdentity, decision: Decision, approval: Approval) -> str:
    """``decision.made`` once more, of the moment of use: it asks for approval, and this is the approval that it asks
    for. Without saying so the record would read as if the call had gone through in spite of it."""
    data: JsonObject = {
        **decision.record(),
        "generation": identity.generation,
        "evaluated_for": "use",
        "matched_by": approval.approval_id,
    }
    return payload_text(SYSTEM, data)


def _ran_out(approval: Approval, now: datetime) -> bool:
    return state_at(approval, now) is ApprovalStatus.EXPIRED
