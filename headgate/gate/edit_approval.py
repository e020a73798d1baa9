"""Edit and approve: decides a reviewer's version of an explicit action, and approves it.

Current policies decide the edited action. If they deny it, the edit is refused. If they require an approval, it must be
the one at hand. The record keeps both versions with their digests.
"""

import json

from msgspec import Struct
from redis.asyncio import Redis

from headgate.actions.digest import action_digest
from headgate.actions.recorded_request import recorded_request
from headgate.actions.rego_input import rego_input
from headgate.approvals.announce_decision import announce_decision
from headgate.approvals.approver import actor_of, approver_of_now, parties_to
from headgate.approvals.decide import save_outcome
from headgate.approvals.edit_store import ActionToEdit, action_to_edit, save_edit
from headgate.approvals.editing import changed_members, check_editable, check_shown, check_still_a_call, edited
from headgate.approvals.history import HistoryVerb, Step
from headgate.approvals.model import Approval, VoteDecision
from headgate.approvals.step_store import add_step
from headgate.approvals.store import get_approval, lock_approval
from headgate.approvals.vote_checks import check_open
from headgate.approvals.vote_store import votes_of
from headgate.approvals.voting import Outcome, Voter, cast_vote, check_right
from headgate.audit.model import Event, EventType
from headgate.audit.store import append
from headgate.connections.placeholders import mentions_placeholder
from headgate.db.database import Connection, Database
from headgate.db.server_clock import server_now
from headgate.executions.keep_call import keep_other_call
from headgate.gate.candidate import NO_SUBMISSION, BoundCandidate, Candidate, with_connection
from headgate.gate.organization_state import MOST_DECISIONS, UNSETTLED, OrganizationState, OrganizationStates
from headgate.gate.pipeline import DecisionPipeline
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, sha256_hex
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, ForbiddenError, UnavailableError
from headgate.organizations.store import generation as stored_generation
from headgate.policies.model import Decision, Verdict, requirements_cover
from headgate.tools.explicit import explicit_draft
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault


class EditApproval(Struct, frozen=True):
    """The use case behind approving with ``params``."""

    database: Database
    valkey: Redis | None
    clock: Clock
    states: OrganizationStates
    pipeline: DecisionPipeline
    catalogue: CatalogueIndex
    vault: Vault

    async def approve(
        self,
        org_id: str,
        approval_id: str,
        voter: Voter,
        params: JsonObject,
        comment: str | None,
        *,
        seen_digest: bytes | None = None,
    ) -> Outcome:
        """Durable when this returns. Raises NotFoundError, ForbiddenError (not this voter's, or denied by a policy),
        ValidationError, ConflictError, UnavailableError."""
        for _ in range(MOST_DECISIONS):
            asked = await self._asked(org_id, approval_id, voter)
            state = await self._state(org_id)
            candidate = with_connection(self._candidate(org_id, asked, params), state.connections, org_id)
            decision = await self._decided(state, candidate)
            async with self.database.transaction(org_id) as connection:
                if await stored_generation(connection, org_id) != state.generation:
                    continue
                outcome = await self._approve(
                    connection, org_id, approval_id, voter, asked, candidate, decision, comment, seen_digest
                )
            if outcome.decided:
                await announce_decision(self.valkey, approval_id)
            return outcome
        raise UnavailableError(UNSETTLED, retry_after_seconds=1)

    async def _asked(self, org_id: str, approval_id: str, voter: Voter) -> ActionToEdit:
        """The action of an approval that this voter may decide. Policies are evaluated for no other person."""
        async with self.database.transaction(org_id) as connection:
            approval, _ = await get_approval(connection, org_id, approval_id)
            now = max(self.clock(), await server_now(connection))
            voter = await approver_of_now(connection, org_id, voter, now)
            votes = await votes_of(connection, org_id, approval_id)
            check_right(approval, votes, voter, await parties_to(connection, approval), VoteDecision.APPROVE)
            check_editable(approval)
            check_open(approval, now)
            return await action_to_edit(connection, approval)

    def _candidate(self, org_id: str, asked: ActionToEdit, params: JsonObject) -> Candidate:
        draft = explicit_draft(
            asked.tool,
            asked.operation,
            params,
            self.catalogue,
            context=canonical_bytes(asked.context),
            delegation=canonical_bytes(asked.delegation),
        )
        operation = f"{asked.tool}.{asked.operation}"
        check_still_a_call(was_call=asked.is_call, is_call=draft.call is not None, operation=operation)
        request = recorded_request(draft)
        check_shown(draft.params, json.loads(request)["params"])
        return Candidate(
            agent_id=asked.agent_id,
            draft=draft,
            digest=action_digest(draft, org_id=org_id, agent_id=asked.agent_id),
            rego_input=rego_input(draft, agent_id=asked.agent_id, agent_name=asked.agent_name),
            request=request,
            submission=NO_SUBMISSION,
            asks_for_connection=mentions_placeholder(draft),
        )

    async def _state(self, org_id: str) -> OrganizationState:
        async with self.database.transaction(org_id) as connection:
            generation = await stored_generation(connection, org_id)
        return await self.states.at_least(org_id, generation)

    async def _decided(self, state: OrganizationState, candidate: BoundCandidate) -> Decision:
        decision = await self.pipeline.decide(state, candidate)
        if decision.verdict is Verdict.DENY:
            by = "" if decision.policy_id is None else f" by policy {decision.policy_id}"
            raise ForbiddenError(
                f"the edited action is denied{by}: {decision.reason}",
                details={"policy_id": decision.policy_id, "reason": decision.reason, "field": "params"},
            )
        return decision

    async def _approve(
        self,
        connection: Connection,
        org_id: str,
        approval_id: str,
        voter: Voter,
        asked: ActionToEdit,
        candidate: Candidate,
        decision: Decision,
        comment: str | None,
        seen_digest: bytes | None,
    ) -> Outcome:
        approval = await lock_approval(connection, org_id, approval_id)
        votes = await votes_of(connection, org_id, approval_id)
        now = max(self.clock(), await server_now(connection))
        voter = await approver_of_now(connection, org_id, voter, now)
        check_open(approval, now)
        _check_covered(approval, decision)
        is_changed = candidate.digest != approval.approved_digest
        about = approval
        if is_changed:
            _check_seen(approval, seen_digest)
            about = edited(
                approval, votes, digest=candidate.digest, params=candidate.draft.params, by=voter.voter_id, now=now
            )
        outcome = cast_vote(
            about,
            votes,
            voter,
            decision=VoteDecision.APPROVE,
            reason=comment,
            now=now,
            parties=await parties_to(connection, approval),
            seen_digest=candidate.digest,
        )
        if is_changed:
            await _record_edit(connection, outcome, voter, asked, candidate, decision)
            await keep_other_call(
                connection, org_id, asked.action_id, candidate.agent_id, candidate.draft, self.vault, self.catalogue
            )
        await save_outcome(connection, outcome, voter)
        return outcome


def _check_covered(approval: Approval, decision: Decision) -> None:
    if not requirements_cover(approval.requirements, decision.requirements):
        raise ConflictError(
            f"the edited action needs another approval than this one: {decision.reason}",
            details={
                "approval_id": approval.approval_id,
                "policy_id": decision.policy_id,
                "requirements": [one.record() for one in decision.requirements],
            },
        )


def _check_seen(approval: Approval, seen_digest: bytes | None) -> None:
    if seen_digest not in (None, approval.approved_digest):
        digest = "sha256:" + approval.approved_digest.hex()
        raise ConflictError(
            f"the action has changed since you read it: its digest is now {digest}",
            details={"approval_id": approval.approval_id, "digest": digest, "status": approval.status.value},
        )


async def _record_edit(
    connection: Connection,
    outcome: Outcome,
    voter: Voter,
    asked: ActionToEdit,
    candidate: Candidate,
    decision: Decision,
) -> None:
    approval, vote = outcome.approval, outcome.vote
    await save_edit(connection, approval, candidate.request, canonical_bytes(decision.record()))
    data: JsonObject = {
        "digest": "sha256:" + approval.digest.hex(),
        "edited_digest": "sha256:" + approval.approved_digest.hex(),
        "edited_request_digest": sha256_hex(candidate.request),
        "changed": [*changed_members(asked.params, candidate.draft.params, "params")],
        "decision": decision.record(),
    }
    step_data: JsonObject = {name: data[name] for name in ("digest", "edited_digest", "changed")}
    step = Step(HistoryVerb.EDITED, vote.decided_at, voter.voter_id, voter.email, vote.reason, step_data)
    await add_step(connection, approval.org_id, approval.approval_id, step)
    event = Event(
        event_type=EventType.APPROVAL_EDITED,
        created_at=vote.decided_at,
        actor=actor_of(voter),
        data={"approval_id": approval.approval_id, **data},
        action_id=approval.action_id,
        agent_id=approval.agent_id,
    )
    await append(connection, approval.org_id, [event])
