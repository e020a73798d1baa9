"""Takes an approved action for the agent that carries it out itself (semantics.md, "Retry, use, expiry").

As the proxy does with a held call: the current policies decide again, and one transaction claims the approval's one use
before the agent does anything. The stored request has its secrets masked, so the agent sends the action again; it must
be the one that was approved.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec import Struct

from headgate.actions.kept_bodies import with_kept_bodies
from headgate.actions.model import ActionDetail, ActionStatus
from headgate.actions.recorded_request import recorded_request
from headgate.actions.recording_store import RecordingOutcome
from headgate.actions.store import get_action
from headgate.agents.model import KeyIdentity
from headgate.approvals.gate_store import held_decision
from headgate.approvals.model import Approval
from headgate.approvals.store import get_approval
from headgate.audit.model import Actor, ActorType, payload_text
from headgate.db.database import Database
from headgate.executions.control_store import take_action
from headgate.gate.caller import Caller, Callers
from headgate.gate.candidate import BoundCandidate, Candidate, candidate_for, with_connection
from headgate.gate.organization_state import OrganizationState
from headgate.gate.pipeline import DecideAgain, Decided, DecisionPipeline, pass_through
from headgate.gate.recall_verdicts import verdicts_in
from headgate.gate.record_batch import Recorder
from headgate.gate.record_rows import RecordedObserver, action_row, observe_nothing, redecided_payload
from headgate.gate.refusals import denied_by_policy, not_recorded
from headgate.gate.tool_change import with_tool_change
from headgate.journal.apply import require_applied
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.recall import Recalled
from headgate.policies.model import Verdict, requirements_cover
from headgate.protocols.draft import ActionDraft
from headgate.tools.explicit import explicit_draft
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault

_COVERED: Final = ("params", "context", "delegation")


class Taken(Struct, frozen=True):
    """The agent may carry it out now, once. ``edited``: the params that a reviewer approved in place of its own."""

    action_id: str
    execution_id: str
    edited: JsonObject | None


class TakeAction(Struct, frozen=True):
    """The use case behind POST /v1/actions/{id}/take. ``pipeline``: stops deny before any policy is asked."""

    pipeline: DecisionPipeline
    callers: Callers
    recorder: Recorder
    database: Database
    clock: Clock
    vault: Vault
    catalogue: CatalogueIndex
    shadow: RecordedObserver = observe_nothing

    async def take(self, key: Secret, identity: KeyIdentity, action_id: str, draft: ActionDraft) -> Taken:
        """``draft``: the action, as it was submitted. Durable when this returns.

        Raises NotFoundError, ConflictError (it cannot be taken; submit it again), ActionDeniedError (by the policies
        of now), UnauthorizedError, UnavailableError.
        """
        org_id, agent_id = identity.org_id, identity.agent_id or ""
        detail, approval = await self._approved(org_id, action_id, agent_id)
        _require_same(detail, draft)
        edited = None if detail.approval is None or detail.approval.edit is None else detail.approval.edit.params
        carried_out = draft if edited is None else self._edited(draft, edited)
        taking = _Taking(self, approval, Taken(action_id, new_id(IdPrefix.EXECUTION), edited))
        bind = partial(_bind, identity, approval, candidate_for(identity, draft), candidate_for(identity, carried_out))
        return await pass_through(self.pipeline, self.callers, Caller(key, identity), taking, bind)

    async def _approved(self, org_id: str, action_id: str, agent_id: str) -> tuple[ActionDetail, Approval]:
        await require_applied(self.database, org_id)
        async with self.database.transaction(org_id) as connection:
            detail = await get_action(connection, org_id, action_id, agent_id=agent_id)
            detail = await with_kept_bodies(connection, org_id, detail, self.vault)
            if detail.action.status is not ActionStatus.APPROVED or detail.action.approval_id is None:
                raise _not_takable(detail, "only an approved action that nobody has taken can be taken")
            approval, _ = await get_approval(connection, org_id, detail.action.approval_id)
        return detail, approval

    def _edited(self, draft: ActionDraft, params: JsonObject) -> ActionDraft:
        return explicit_draft(
            draft.tool, draft.operation, params, self.catalogue, context=draft.context, delegation=draft.delegation
        )


class _Taking(Struct, frozen=True):
    """One action on its way through the pipeline."""

    use_case: TakeAction
    approval: Approval
    taken: Taken

    async def recall(self, identity: KeyIdentity, candidate: BoundCandidate) -> Recalled:
        """What judges said when the approval was opened."""
        org_id, approval_id = identity.org_id, self.approval.approval_id
        async with self.use_case.database.transaction(org_id) as connection:
            return verdicts_in(await held_decision(connection, org_id, approval_id, candidate.agent_id))

    async def masked(self, state: OrganizationState, identity: KeyIdentity, decided: Decided) -> None:
        """The agent has the params already: nothing of them can be replaced."""
        return

    async def exempt(self, decided: Decided) -> Taken | DecideAgain | None:
        """An approval of exactly this call goes before a grant, and nothing exempts from a denial here."""
        return None

    async def hold(self, decided: Decided) -> Taken | DecideAgain:
        if not requirements_cover(self.approval.requirements, decided.decision.requirements):
            raise ConflictError(
                "the current policies require another approval: submit the action again",
                details={"approval_id": self.approval.approval_id, "reason": decided.decision.reason},
            )
        return await self._claim(decided)

    async def record(self, decided: Decided) -> Taken | DecideAgain:
        if decided.decision.verdict is Verdict.ALLOW:
            return await self._claim(decided)
        row = action_row(decided, status=ActionStatus.DENIED.value, created_at=self.use_case.clock())
        outcome = await self.use_case.recorder.submit_action(row)
        if outcome is not RecordingOutcome.RECORDED:
            return not_recorded(outcome)
        self.use_case.shadow(decided, row.action_id, row.created_at)
        raise denied_by_policy(decided.decision, row)

    async def _claim(self, decided: Decided) -> Taken | DecideAgain:
        identity, taken, approval_id = decided.identity, self.taken, self.approval.approval_id
        started: JsonObject = {"execution_id": taken.execution_id, "approval_id": approval_id, "taken": True}
        actor = Actor(ActorType.AGENT, decided.candidate.agent_id, identity.agent_name)
        async with self.use_case.database.transaction(identity.org_id) as connection:
            outcome = await take_action(
                connection,
                identity.org_id,
                taken.action_id,
                decided.candidate.agent_id,
                taken.execution_id,
                self.use_case.clock(),
                generation=identity.generation,
                digest=decided.candidate.digest,
                redecided=redecided_payload(decided, approval_id),
                started=payload_text(actor, started),
            )
        match outcome:
            case "taken":
                return taken
            case "stale":
                return DecideAgain.STALE
            case "ours":
                raise ConflictError("Headgate executes this action itself.", details={"action_id": taken.action_id})
        raise ConflictError(
            f"the approval of action {taken.action_id} is used or has expired: submit the action again",
            details={"approval_id": approval_id},
        )


async def _bind(
    identity: KeyIdentity, approval: Approval, submitted: Candidate, candidate: Candidate, state: OrganizationState
) -> BoundCandidate:
    """What is carried out, with its connection of now. Raises ConflictError: it is not what was approved."""
    bound = with_connection(submitted, state.connections, state.org_id)
    changed = with_tool_change(candidate, state, identity.agent_name or "")
    carried_out = with_connection(changed, state.connections, state.org_id)
    if bound.digest != approval.digest or carried_out.digest != approval.approved_digest:
        raise _another()
    return carried_out


def _require_same(detail: ActionDetail, draft: ActionDraft) -> None:
    """The digest covers neither context nor delegation, which policies read and reviewers have seen."""
    action = detail.action
    if draft.call is not None:
        raise ConflictError("Headgate executes this action itself.", details={"action_id": action.action_id})
    sent = parse_strict(recorded_request(draft))
    stored: Mapping[str, Any] = {name: getattr(action.request, name) for name in _COVERED}
    if (draft.tool, draft.operation) != (action.tool, action.operation) or not isinstance(sent, dict):
        raise _another()
    if any(canonical_bytes(sent.get(name) or {}) != canonical_bytes(stored[name] or {}) for name in _COVERED):
        raise _another()


def _another() -> ConflictError:
    return ConflictError(
        "this is not the action that was approved: send exactly the submitted action, or submit it again"
    )


def _not_takable(detail: ActionDetail, why: str) -> ConflictError:
    action = detail.action
    return ConflictError(f"action {action.action_id} is {action.status}: {why}", details={"status": action.status})
