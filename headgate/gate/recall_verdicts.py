"""Reads what judges decided when an approval was opened (docs/decisions/0013-validity-of-a-judges-verdict.md)."""

from headgate.approvals.gate_store import held_decision
from headgate.approvals.model import RetryAnswer, answer_for_retry
from headgate.approvals.store import newest_for_digest
from headgate.db.database import Database
from headgate.executions.store import QueuedExecution
from headgate.gate.candidate import Candidate
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.clock import Clock
from headgate.nlp_policies.recall import NOTHING_RECALLED, Recalled, recalled_verdicts

_STILL_HOLDS = frozenset((RetryAnswer.HOLD, RetryAnswer.USE))


async def verdicts_of_approval(database: Database, clock: Clock, org_id: str, candidate: Candidate) -> Recalled:
    """Of the approval that this call would wait for, or use. Raises UnavailableError."""
    async with database.transaction(org_id) as connection:
        newest = await newest_for_digest(connection, org_id, candidate.agent_id, candidate.digest)
        if newest is None or answer_for_retry(newest, clock()) not in _STILL_HOLDS:
            return NOTHING_RECALLED
        recorded = await held_decision(connection, org_id, newest.approval_id, candidate.agent_id)
    return verdicts_in(recorded)


async def verdicts_of_execution(database: Database, org_id: str, queued: QueuedExecution) -> Recalled:
    """Of the approval that this execution uses; the claim refuses where it may not. Raises UnavailableError."""
    if queued.approval_id is None:
        return NOTHING_RECALLED
    async with database.transaction(org_id) as connection:
        return verdicts_in(await held_decision(connection, org_id, queued.approval_id, queued.agent_id))


def verdicts_in(recorded: str) -> Recalled:
    """Of a recorded decision."""
    decision = parse_strict(recorded.encode())
    return recalled_verdicts(decision) if isinstance(decision, dict) else NOTHING_RECALLED
