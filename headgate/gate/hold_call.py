"""Holds a call until a person decides (semantics.md, "Retry, use, expiry").

Each step acts on the newest approval of the call's digest, or waits for a wake-up. The pipeline decides again between
steps, so that an approval is used only while current policies agree.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from msgspec import Struct

from headgate.actions.instance import Instance
from headgate.agents.model import KeyIdentity
from headgate.approvals.wake_ups import WakeUps
from headgate.db.database import Database
from headgate.gate.admitted import Admitted
from headgate.gate.candidate import BoundCandidate
from headgate.gate.finish_execution import ExecutionEnds
from headgate.gate.held_approval import HeldApprovals
from headgate.gate.held_call import HeldCall, Pending
from headgate.gate.held_limits import HeldCounts
from headgate.gate.pipeline import DecideAgain, Decided
from headgate.gate.recall_verdicts import verdicts_of_approval
from headgate.gate.record_batch import GateRecorder
from headgate.gate.record_rows import RecordedObserver, observe_nothing
from headgate.gate.refusals import ClientGoneError, pending_error
from headgate.kernel.clock import Clock
from headgate.nlp_policies.recall import Recalled
from headgate.policies.model import Decision

type HoldWatch = Callable[[HeldCall], AbstractContextManager[None]]
"""Around each wait for a person."""

_UNWATCHED: Final = nullcontext()
"""One for all calls, as each held call would keep its own."""


def unwatched(_held: HeldCall) -> AbstractContextManager[None]:
    return _UNWATCHED


class HoldTimes(Struct, frozen=True):
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
        recorder: GateRecorder,
        wake_ups: WakeUps,
        instance: Instance,
        ends: ExecutionEnds,
        clock: Clock,
        times: HoldTimes,
        most_open_approvals: int | None,
        counts: HeldCounts,
        shadow: RecordedObserver = observe_nothing,
        watch: HoldWatch = unwatched,
    ) -> None:
        self._watch = watch
        self._counts = counts
        self._approvals = HeldApprovals(
            database=database,
            recorder=recorder,
            instance=instance,
            ends=ends,
            clock=clock,
            expires_seconds=times.approval_expires_seconds,
            most_open_approvals=most_open_approvals,
            shadow=shadow,
        )
        self._database = database
        self._wake_ups = wake_ups
        self._clock = clock
        self._times = times
        self._is_stopping = False

    def release(self) -> None:
        """Ends all holds of a process that stops: clients are asked to send the call again."""
        self._is_stopping = True
        self._wake_ups.wake_all()

    async def judged_before(self, identity: KeyIdentity, candidate: BoundCandidate) -> Recalled:
        """What judges said when the approval of this call was opened. Raises UnavailableError."""
        return await verdicts_of_approval(self._database, self._clock, identity.org_id, candidate)

    async def step(self, decided: Decided, held: HeldCall) -> Admitted | DecideAgain | Pending:
        """Pending: ``wait`` comes next, for which nothing of the candidate is needed.

        The decision asks for approval. Raises ApprovalDeniedError, ClientGoneError, RateLimitedError,
        UnauthorizedError, UnavailableError.
        """
        if held.deadline_seconds is None:
            wanted = decided.decision.hold_seconds
            hold_seconds = self._times.hold_seconds if wanted is None else wanted
            # A client that gives up itself learns nothing of the approval.
            client_seconds = held.client_seconds()
            if client_seconds is not None:
                hold_seconds = min(hold_seconds, client_seconds)
            held.deadline_seconds = asyncio.get_running_loop().time() + hold_seconds
        if held.approval_id is None:
            return await self._approvals.act(decided, held)
        # In the order in which they came: the first that is still connected uses the approval.
        async with self._wake_ups.turn(held.approval_id):
            return await self._approvals.act(decided, held)

    async def wait(self, identity: KeyIdentity, pending: Pending, decision: Decision, held: HeldCall) -> DecideAgain:
        """Until a wake-up. Raises ApprovalPendingError at the hold's end, or at once where as many calls wait as may;
        ClientGoneError without a client."""
        held.pending = pending
        left_seconds = (held.deadline_seconds or 0.0) - asyncio.get_running_loop().time()
        agent = (identity.org_id, identity.agent_id or "")
        if left_seconds <= 0 or self._is_stopping or not self._counts.has_room(agent, pending.approval_id):
            raise pending_error(
                decision,
                action_id=pending.action_id,
                approval_id=pending.approval_id,
                expires_at=pending.expires_at,
                public_api_url=self._times.public_api_url,
            )
        # No wake-up announces an expiry: each held call watches it.
        until_expiry = (pending.expires_at - self._clock()).total_seconds()
        with self._watch(held):
            self._counts.add(agent, pending.approval_id)
            self._wake_ups.add(pending.approval_id, held.waiter)
            try:
                await held.waiter.wait(min(left_seconds, max(until_expiry, 0.0)))
            finally:
                self._wake_ups.remove(pending.approval_id, held.waiter)
                self._counts.remove(agent, pending.approval_id)
        if not held.client.connected:
            raise ClientGoneError("the client has gone; the approval stays open")
        # Also at the deadline: the approval is read once more before the agent is told to come back.
        return DecideAgain.AWAKE
