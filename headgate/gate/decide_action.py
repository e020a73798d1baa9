"""From an action to its decision, and from both to the rows and events that record them.

Pure but for the clock's and the ids' values, which are passed in or random: no I/O.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from headgate.actions.digest import action_digest
from headgate.actions.recorded_request import recorded_request
from headgate.actions.recording_store import ActionRow
from headgate.actions.rego_input import rego_input
from headgate.agents.model import KeyIdentity
from headgate.approvals.attention import Attention, escalation_time, reminder_time
from headgate.approvals.gate_store import HoldRow
from headgate.approvals.store import assigned_names
from headgate.audit.model import SYSTEM, Actor, ActorType, payload_text
from headgate.connections.model import Connection
from headgate.connections.placeholders import mentions_placeholder
from headgate.gate.organization_state import OrganizationState
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, sha256_hex
from headgate.kernel.clock import rfc3339
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.stopwatch import Stopwatch
from headgate.organizations.stops import refusal, stopping
from headgate.policies.marker import Marker
from headgate.policies.model import Decision, RiskLevel, Verdict
from headgate.protocols.draft import ActionDraft
from headgate.protocols.mcp import McpId


@dataclass(frozen=True, slots=True)
class Submission:
    """What only an explicit submission carries: its idempotency key, with its body's digest, and its parent.
    ``address``: where the call came from, for the record."""

    idempotency_key: str | None = None
    request_digest: bytes | None = None
    parent_action_id: str | None = None
    address: str | None = None


NO_SUBMISSION = Submission()


@dataclass(frozen=True, slots=True)
class Candidate:
    """An action on its way to a decision: everything about it that no policy changes, made once."""

    agent_id: str
    draft: ActionDraft
    digest: bytes
    rego_input: bytes
    request: bytes
    submission: Submission
    asks_for_connection: bool = False
    """It mentions a placeholder."""
    connection: Connection | None = None
    """Whose credential it will carry; set for the generation that it is decided on (``use_connection``)."""


@dataclass(frozen=True, slots=True)
class ReadAction:
    """What is still needed of an intercepted call when its params are not: while it waits, and while it is answered.
    ``host`` is empty where no call is made."""

    agent_id: str
    tool: str
    operation: str
    host: str
    mcp_id: McpId | None
    expected_status: Callable[[int], bool]


def read_action(candidate: Candidate) -> ReadAction:
    draft = candidate.draft
    host = "" if draft.call is None else draft.call.host
    return ReadAction(candidate.agent_id, draft.tool, draft.operation, host, draft.mcp_id, draft.expected_status)


type RecordedObserver = Callable[[KeyIdentity, Candidate, Decision, str, datetime], None]
"""Told of each new action once its decision is recorded: by whom, what, how decided, its id, when."""


def observe_nothing(
    identity: KeyIdentity, candidate: Candidate, decision: Decision, action_id: str, at: datetime
) -> None:
    """Where nobody watches."""


def candidate_for(identity: KeyIdentity, draft: ActionDraft, submission: Submission = NO_SUBMISSION) -> Candidate:
    """The action as this agent's. Raises ValidationError where it cannot be canonical."""
    if identity.agent_id is None:
        raise ValueError("only an agent's key calls")
    return Candidate(
        agent_id=identity.agent_id,
        draft=draft,
        digest=action_digest(draft, org_id=identity.org_id, agent_id=identity.agent_id),
        rego_input=rego_input(draft, agent_id=identity.agent_id, agent_name=identity.agent_name or ""),
        request=recorded_request(draft),
        submission=submission,
        asks_for_connection=mentions_placeholder(draft),
    )


def decide(
    state: OrganizationState, candidate: Candidate, watch: Stopwatch | None = None, marker: Marker | None = None
) -> Decision:
    """What the policies of this state say, unless it is stopped: then no policy is asked. ``marker``: of the thread
    that asks, where it is not the event loop's."""
    draft = candidate.draft
    stop = stopping(state.stops, agent_id=candidate.agent_id, tool=draft.tool)
    if stop is not None:
        return Decision(Verdict.DENY, refusal(stop), RiskLevel.CRITICAL, None, 0.0)
    return state.policies.decide(
        candidate.rego_input,
        tool=draft.tool,
        operation=draft.operation,
        host=None if draft.call is None else draft.call.host,
        method=None if draft.call is None else draft.call.method,
        watch=watch,
        marker=marker,
    )


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
    identity: KeyIdentity,
    candidate: Candidate,
    decision: Decision,
    *,
    status: str,
    created_at: datetime,
    execution_id: str | None = None,
    instance_id: str | None = None,
) -> ActionRow:
    """The row of an action that is allowed or denied at once."""
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
    identity: KeyIdentity,
    candidate: Candidate,
    decision: Decision,
    *,
    created_at: datetime,
    default_expires_seconds: int,
    previous_approval_id: str | None,
    superseded: str | None = None,
) -> HoldRow:
    """The row of an action that waits for a human, with its approval."""
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
    """Whom the approval of this row is assigned to, and when the clock looks after it; None: nobody, and never."""
    names = assigned_names(decision.requirements)
    escalate_at = escalation_time(row.created_at, row.expires_at, row.risk_level, decision.escalate_after_seconds)
    remind_at = reminder_time(row.created_at, row.expires_at, decision.remind_after_seconds)
    if not names and escalate_at is None and remind_at is None:
        return None
    return Attention(tuple(names), escalate_at, decision.remind_after_seconds, remind_at)
