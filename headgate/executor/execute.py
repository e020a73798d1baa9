"""Runs one attempt of a queued execution: decide again, claim, send, judge, settle.

Each step is durable before the next. If the worker is killed before the claim, the execution stays queued. If it is
killed after the claim, the outcome is unknown, and only repeatable operations are sent again (``close_orphans``). After
the settlement nothing is left to do.
"""

import itertools
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from headgate.actions.instance import Instance
from headgate.connections.count_connection_uses import ConnectionUses
from headgate.connections.open_credential import OpenCredentials
from headgate.db.database import Database
from headgate.executions.model import EXECUTE, ClaimOutcome
from headgate.executions.store import QueuedExecution
from headgate.executor.attempt import AttemptMaker
from headgate.executor.claim import WAIT_IN_PLACE_SECONDS, AttemptClaims
from headgate.executor.inspect_result import ResultInspector
from headgate.executor.permit import ExecutionPermits, NotReady
from headgate.executor.settle import Settlements
from headgate.gate.organization_state import MOST_DECISIONS, UNSETTLED
from headgate.gate.preconditions import blocked_or_stopped
from headgate.gate.process import Deciding
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError
from headgate.outgoing.client import OutgoingClient
from headgate.queue.model import JobReference
from headgate.queue.store import defer

_REFUSED: Final = "its approval is used up, withdrawn or past its time, or its agent is no longer active"


class ExecuteAction:
    """The handler of ``action.execute``; ``chance`` is for the jitter. ``concurrency_max``: what the limits of an
    organization are cut to."""

    def __init__(
        self,
        *,
        database: Database,
        deciding: Deciding,
        uses: ConnectionUses,
        client: OutgoingClient,
        instance: Instance,
        clock: Clock,
        concurrency_max: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._database = database
        self._states = deciding.states
        catalogue, vault = deciding.catalogue, deciding.vault
        self._claims = AttemptClaims(
            database,
            catalogue,
            vault,
            OpenCredentials(database, vault, clock),
            instance,
            clock,
            chance,
            concurrency_max=concurrency_max,
        )
        pipeline = deciding.pipeline(blocked_or_stopped, is_shared=False)
        self._permits = ExecutionPermits(database, deciding.states, catalogue, vault, pipeline, self._claims)
        self._attempts = AttemptMaker(catalogue, client, ResultInspector(deciding.evaluator), uses, clock, chance)
        self._settlements = Settlements(database, clock, instance_id=instance.instance_id)
        self._instance = instance
        self._clock = clock
        self._chance = chance
        self._flights = itertools.count()

    async def run(self, reference: JobReference) -> None:
        """Raises UnavailableError before the claim; after it, it tells how it ended until that is durable."""
        # This process owns the attempt before it is recorded, so that no heartbeat in between disowns it; by a name of
        # its own, as another job may ask about the same execution meanwhile. What is claimed and not settled when this
        # ends, nobody owns: the worker closes it.
        flight = f"{reference.subject_id} {next(self._flights)}"
        self._instance.began(flight, self._clock())
        try:
            await self._run(reference.org_id, reference.subject_id)
        finally:
            self._instance.ended(flight)

    async def _run(self, org_id: str, execution_id: str) -> None:
        for _ in range(MOST_DECISIONS):
            ready = await self._permits.find(org_id, execution_id)
            if ready is None:
                return
            if isinstance(ready, NotReady):
                await self._settlements.refuse(org_id, execution_id, ready.reason, ready.queued.limits)
                return
            permitted = ready.permitted
            claimed = await self._claims.wait_for(org_id, permitted, ready.claimed)
            match claimed.claim.outcome:
                case ClaimOutcome.CLAIMED:
                    settlement = await self._attempts.make(org_id, permitted, claimed)
                    await self._settlements.tell(
                        org_id, execution_id, settlement, permitted.queued.limits, claimed=claimed.claim
                    )
                    return
                case ClaimOutcome.GONE:
                    return
                case ClaimOutcome.REFUSED:
                    reason = claimed.refusal or _REFUSED
                    await self._settlements.refuse(org_id, execution_id, reason, permitted.queued.limits)
                    return
                case ClaimOutcome.BUSY:
                    await self._later(org_id, permitted.queued, claimed.claim.wait_seconds)
                    return
                case ClaimOutcome.STALE:
                    await self._states.newer_than(permitted.state)
        raise UnavailableError(UNSETTLED, retry_after_seconds=1)

    async def abandoned(self, reference: JobReference, reason: str) -> None:
        """Its job is not tried again: the execution ends, whether or not an attempt was under way."""
        await self._settlements.give_up(reference.org_id, reference.subject_id, reason)

    async def _later(self, org_id: str, queued: QueuedExecution, wait_seconds: float) -> None:
        """Back into the queue; with jitter, so that what waits for one breaker does not come at once."""
        wait = max(wait_seconds, WAIT_IN_PLACE_SECONDS) * (1 + self._chance() / 2)
        async with self._database.transaction(org_id) as connection:
            await defer(
                connection,
                EXECUTE,
                org_id,
                queued.execution_id,
                at=self._clock() + timedelta(seconds=wait),
                priority=queued.priority,
                once=f"execute {queued.execution_id}",
            )
