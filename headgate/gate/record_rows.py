"""The rows and events that record a decision. Pure but for new ids."""

from collections.abc import Callable
from datetime import datetime, timedelta

from headgate.actions.recorded_entry import ActionRow
from headgate.agents.model import KeyIdentity
from headgate.approvals.attention import Attention, escalation_time, reminder_time
from headgate.approvals.gate_store import HoldRow
from headgate.approvals.store import assigned_names
from headgate.audit.model import SYSTEM, Actor, ActorType, payload_text
from headgate.gate.candidate import Candidate
from headgate.gate.pipeline import Decided
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, sha256_hex
from headgate.kernel.clock import rfc3339
from headgate.kernel.ids import IdPrefix, new_id
from headgate.policies.model import Decision

type RecordedObserver = Callable[[Decided, str, datetime], None]
"""Receives each new action once its decision is recorded: the decision, the action's id, the time."""


def observe_nothing(decided: Decided, action_id: str, at: datetime) -> None:
    """Observes nothing."""


def _actor(identity: KeyIdentity, address: str | None = None) -> Actor:
    return Actor(ActorType.AGENT, identity.agent_id or identity.key_id, identity.agent_name, address)


def submitted_payload(identity: KeyIdentity, candidate: Candidate) -> str:
    """``action.submitted``: what was asked for, bound by digests to the stored request and to the very call."""
    data: JsonObject = {
        "source": candidate.draft.source,
        "tool": candidate.draft.tool,
        "operation": candidate.draft.operation,
        "digest": "sha256:" + candidate.digest.hex(),
        "request_digest": sha256_hex(candidate.request),
        "key_id": identity.key_id,
    }
    if candidate.draft.catalogue_sha256 is not None:
        data["catalogue_sha256"] = candidate.draft.catalogue_sha256
    if candidate.connection is not None:
        data["connection_id"] = candidate.connection.connection_id
    if candidate.submission.parent_action_id is not None:
        data["parent_action_id"] = candidate.submission.parent_action_id
    return payload_text(_actor(identity, candidate.submission.address), data)


def decided_payload(identity: KeyIdentity, decision: Decision) -> str:
    """``decision.made``: the decision, the policy versions that made it, and the state that they were of."""
    return payload_text(SYSTEM, {**decision.record(), "generation": identity.generation})


def redecided_payload(decided: Decided, approval_id: str) -> str:
    """``decision.made`` once more, of the moment of use: it asks for approval, and this is the approval that it asks
    for. Without saying so the record would read as if the call had gone through in spite of it."""
    data: JsonObject = {
        **decided.decision.record(),
        "generation": decided.identity.generation,
        "evaluated_for": "use",
        "matched_by": approval_id,
    }
    return payload_text(SYSTEM, data)


def started_payload(identity: KeyIdentity, execution_id: str, instance_id: str, approval_id: str | None) -> str:
    """``execution.started``."""
    data: JsonObject = {"execution_id": execution_id, "instance_id": instance_id}
    if approval_id is not None:
        data["approval_id"] = approval_id
    return payload_text(_actor(identity), data)


def retried_payload(identity: KeyIdentity, approval_id: str) -> str:
    """``action.retried``: the same call again while its approval is open."""
    return payload_text(_actor(identity), {"approval_id": approval_id})


def action_row(
    decided: Decided,
    *,
    status: str,
    created_at: datetime,
    execution_id: str | None = None,
    instance_id: str | None = None,
) -> ActionRow:
    """The row of an action that is allowed or denied at once."""
    identity, candidate, decision = decided.identity, decided.candidate, decided.decision
    started = None
    if execution_id is not None and instance_id is not None:
        started = started_payload(identity, execution_id, instance_id, None)
    return ActionRow(
        org_id=identity.org_id,
        generation=identity.generation,
        action_id=new_id(IdPrefix.ACTION),
        agent_id=candidate.agent_id,
        key_id=identity.key_id,
        source=candidate.draft.source,
        tool=candidate.draft.tool,
        operation=candidate.draft.operation,
        status=status,
        digest=candidate.digest,
        request=candidate.request,
        decision=canonical_bytes(decision.record()),
        risk_level=decision.risk_level.value,
        parent_action_id=candidate.submission.parent_action_id,
        created_at=created_at,
        execution_id=execution_id,
        instance_id=instance_id,
        idempotency_key=candidate.submission.idempotency_key,
        request_digest=candidate.submission.request_digest,
        submitted=submitted_payload(identity, candidate),
        decided=decided_payload(identity, decision),
        started=started,
    )


def hold_row(
    decided: Decided,
    *,
    created_at: datetime,
    default_expires_seconds: int,
    previous_approval_id: str | None,
    superseded: str | None = None,
) -> HoldRow:
    """The row of an action that waits for a human, with its approval."""
    identity, candidate, decision = decided.identity, decided.candidate, decided.decision
    expires_in = default_expires_seconds if decision.expires_in_seconds is None else decision.expires_in_seconds
    expires_at = created_at + timedelta(seconds=expires_in)
    approval_id = new_id(IdPrefix.APPROVAL)
    required_approvals = max((one.required_approvals for one in decision.requirements), default=1)
    requested: JsonObject = {
        "approval_id": approval_id,
        "required_approvals": required_approvals,
        "requirements": [one.record() for one in decision.requirements],
        "expires_at": rfc3339(expires_at),
    }
    if previous_approval_id is not None:
        requested["repeats"] = previous_approval_id
    escalate_at = escalation_time(created_at, expires_at, decision.risk_level.value, decision.escalate_after_seconds)
    if escalate_at is not None:
        requested["escalate_at"] = rfc3339(escalate_at)
    return HoldRow(
        org_id=identity.org_id,
        generation=identity.generation,
        action_id=new_id(IdPrefix.ACTION),
        agent_id=candidate.agent_id,
        key_id=identity.key_id,
        source=candidate.draft.source,
        tool=candidate.draft.tool,
        operation=candidate.draft.operation,
        digest=candidate.digest,
        request=candidate.request.decode(),
        decision=canonical_bytes(decision.record()).decode(),
        risk_level=decision.risk_level.value,
        parent_action_id=candidate.submission.parent_action_id,
        created_at=created_at,
        idempotency_key=candidate.submission.idempotency_key,
        request_digest=candidate.submission.request_digest,
        submitted=submitted_payload(identity, candidate),
        decided=decided_payload(identity, decision),
        requested=payload_text(_actor(identity), requested),
        approval_id=approval_id,
        requirements=canonical_bytes(requested["requirements"]).decode(),
        required_approvals=required_approvals,
        reason=decision.reason,
        policy_id=decision.policy_id,
        expires_at=expires_at,
        previous_approval_id=previous_approval_id,
        superseded=superseded,
    )


def attention_of(decision: Decision, row: HoldRow) -> Attention | None:
    """Assignees, escalation and reminder of this row's approval; None: it has none of them."""
    names = assigned_names(decision.requirements)
    escalate_at = escalation_time(row.created_at, row.expires_at, row.risk_level, decision.escalate_after_seconds)
    remind_at = reminder_time(row.created_at, row.expires_at, decision.remind_after_seconds)
    if not names and escalate_at is None and remind_at is None:
        return None
    return Attention(tuple(names), escalate_at, decision.remind_after_seconds, remind_at)
