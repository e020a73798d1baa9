"""Decides whether a queued execution may run now: reads its call again and decides it by current policies."""

from functools import partial

from msgspec import Struct

from headgate.break_glass.store import glass_used_by
from headgate.db.database import Connection, Database
from headgate.executions.kept_call import KeptCall, read_kept, vault_name
from headgate.executions.store import QueuedExecution, find_queued
from headgate.executor.claim import AttemptClaims, Claimed
from headgate.executor.redecide import (
    Permitted,
    Refusal,
    candidate_of,
    judged,
    permitted_still,
)
from headgate.gate.organization_state import OrganizationStates
from headgate.gate.pipeline import DecisionPipeline
from headgate.gate.recall_verdicts import verdicts_of_execution
from headgate.grants.store import grant_used_by
from headgate.policies.model import Decision
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault


class Ready(Struct, frozen=True):
    """``claimed``: where it could be claimed in the same transaction."""

    permitted: Permitted
    claimed: Claimed | None = None


class NotReady(Struct, frozen=True):
    """It must not run."""

    queued: QueuedExecution
    reason: str


class ExecutionPermits:
    """Of one process."""

    def __init__(
        self,
        database: Database,
        states: OrganizationStates,
        catalogue: CatalogueIndex,
        vault: Vault,
        pipeline: DecisionPipeline,
        claims: AttemptClaims,
    ) -> None:
        self._pipeline = pipeline
        self._database = database
        self._states = states
        self._catalogue = catalogue
        self._vault = vault
        self._claims = claims

    async def find(self, org_id: str, execution_id: str) -> Ready | NotReady | None:
        """None: it does not wait any more. Raises UnavailableError."""
        async with self._database.transaction(org_id) as connection:
            queued = await find_queued(connection, org_id, execution_id)
            if queued is None:
                return None
            kept = await self._kept(connection, org_id, queued)
            if kept is None:
                return NotReady(queued, "its call is not kept any more")
            state = self._states.current(org_id)
            if state is not None and state.generation == queued.generation:
                candidate = candidate_of(org_id, queued, kept, self._catalogue, state.connections)
                if isinstance(candidate, Refusal):
                    return NotReady(queued, candidate.reason)
                decision = self._pipeline.decide_at_once(state, candidate)
                if decision is not None:
                    # Nothing to wait for: decided and claimed at once, in half the questions to the database.
                    decided = await self._permitted(connection, org_id, judged(decision, queued), queued)
                    if isinstance(decided, Refusal):
                        return NotReady(queued, decided.reason)
                    permitted = Permitted(queued, candidate, state, decided)
                    return Ready(permitted, await self._claims.claim(connection, org_id, permitted))
        return await self._decided_by_all(org_id, queued, kept)

    async def _decided_by_all(self, org_id: str, queued: QueuedExecution, kept: KeptCall) -> Ready | NotReady:
        """Where a model may be asked, or a turn has to come, which no transaction waits for."""
        state = await self._states.at_least(org_id, queued.generation)
        candidate = candidate_of(org_id, queued, kept, self._catalogue, state.connections)
        if isinstance(candidate, Refusal):
            return NotReady(queued, candidate.reason)
        recall = partial(verdicts_of_execution, self._database, org_id, queued)
        decided = judged(await self._pipeline.decide(state, candidate, recall), queued)
        if isinstance(decided, Refusal):
            async with self._database.transaction(org_id) as connection:
                decided = await self._permitted(connection, org_id, decided, queued)
        if isinstance(decided, Refusal):
            return NotReady(queued, decided.reason)
        return Ready(Permitted(queued, candidate, state, decided))

    async def _kept(self, connection: Connection, org_id: str, queued: QueuedExecution) -> KeptCall | None:
        name = vault_name(queued.action_id)
        kept = (await self._vault.open(connection, org_id, [name])).get(name)
        return None if kept is None else read_kept(kept)

    async def _permitted(
        self, connection: Connection, org_id: str, decided: Decision | Refusal, queued: QueuedExecution
    ) -> Decision | Refusal:
        """What the current policies do not let run, but for the grant or the broken glass that let it through."""
        if not isinstance(decided, Refusal) or decided.decision is None:
            return decided
        permission = await grant_used_by(connection, org_id, queued.action_id) or await glass_used_by(
            connection, org_id, queued.action_id
        )
        return decided if permission is None else permitted_still(decided.decision, permission)
