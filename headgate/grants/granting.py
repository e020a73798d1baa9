"""Giving grants: for calls to come, or with an approval. Each raises the organization's generation: effective at every
process with its next decision (semantics.md, "Fresh state"). A transaction is the caller's.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from headgate.agents.model import AgentStatus
from headgate.agents.store import get_agent
from headgate.approvals.model import Approval
from headgate.approvals.standing import Parties
from headgate.approvals.voting import Voter
from headgate.audit.change import Change
from headgate.audit.model import EventType
from headgate.grants.model import (
    IN_FORCE_MAX,
    REASON_MAX_CHARACTERS,
    USES_MAX,
    Grant,
    Granter,
    Scope,
    why_not_answered,
)
from headgate.grants.store import count_in_force, insert_grant, parties_of
from headgate.grants.stored_form import scope_record
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, ForbiddenError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.change import OrganizationChange
from headgate.policies.constant_duties import constant_duties
from headgate.policies.model import Requirement, RulePolicy
from headgate.policies.store import load_enabled
from headgate.policies.terms import Duty


class Bounds(Struct, frozen=True):
    """How far a grant reaches. ``max_sum`` and the scope's ``sum_param`` are set together or not at all."""

    expires_at: datetime
    max_uses: int
    max_sum: Decimal | None
    reason: str


class Calls(Struct, frozen=True):
    """Which of an agent's calls a grant is for."""

    tool: str
    operation: str
    scope: Scope


async def grant_calls(
    change: OrganizationChange,
    granter: Voter,
    bounds: Bounds,
    calls: Calls,
    *,
    agent_id: str,
    policy_ids: Sequence[str] | None,
    max_seconds: int,
) -> Grant:
    """A grant without an approval. ``policy_ids`` None: those that are enabled now, so that one which is written later
    is not answered by what nobody thought of when it was given.

    Raises ForbiddenError, ValidationError, NotFoundError, ConflictError.
    """
    enabled = {policy.policy_id: policy for policy in await load_enabled(change.connection, change.org_id)}
    if unknown := sorted(set(policy_ids or ()) - enabled.keys()):
        raise ValidationError(
            f"{unknown[0][:64]} is not an enabled rule policy",
            details={"field": "policy_ids", "reason": "no such rule policy"},
        )
    answered = set(enabled if policy_ids is None else policy_ids)
    grant = _new(change, granter, bounds, calls, agent_id, answered)
    await refuse_kept_apart(change, grant, granter, [enabled[policy_id] for policy_id in sorted(answered)])
    await _save(change, grant, max_seconds)
    return grant


async def grant_approved(
    change: OrganizationChange,
    granter: Voter,
    bounds: Bounds,
    calls: Calls,
    *,
    approval: Approval,
    parties: Parties,
    max_seconds: int,
) -> Grant:
    """The grant that comes with an approval: for what was approved, by who approved it, of the policies that asked.

    Raises ForbiddenError, ValidationError, ConflictError (these policies do not allow it, or not so far).
    """
    asked = {one.policy_id for one in approval.requirements}
    grant = replace(
        _new(change, granter, bounds, calls, approval.agent_id, asked),
        approval_id=approval.approval_id,
        parties=parties,
    )
    refuse_unanswered(grant, approval.requirements)
    await _save(change, grant, max_seconds)
    return grant


def refuse_unanswered(grant: Grant, requirements: Sequence[Requirement]) -> None:
    """Raises ConflictError where the policies that asked would not be answered by this grant."""
    if not requirements:
        raise ConflictError("No policy of this approval names its approvers, so it cannot be granted.")
    for one in requirements:
        if one.policy_id.startswith(f"{IdPrefix.NLP_POLICY}_"):
            raise ConflictError(
                "A content policy held this request. Content is judged for each request and cannot be granted.",
                details={"policy_id": one.policy_id},
            )
    if (reason := why_not_answered(grant, requirements)) is not None:
        raise ConflictError(f"this cannot be granted: {reason}", details={"reason": reason})


async def refuse_kept_apart(
    change: OrganizationChange, grant: Grant, granter: Voter, policies: Sequence[RulePolicy]
) -> None:
    """Raises ForbiddenError if each of the grant's policies keeps this person apart for every call, so that they would
    never count. Where that depends on the call, it is found when the grant is used (``why_not_answered``)."""
    parties = await parties_of(change.connection, change.org_id, grant.agent_id, grant.policy_ids)
    kept_apart: list[tuple[Duty, str]] = []
    for policy in policies:
        asked = Requirement(policy.policy_id, policy.version, 1, separation_of_duties=tuple(Duty))
        if parties.duty_of(granter.named, asked) is None:
            return
        # Only of those whom it may concern is a policy's text read: that takes half a millisecond.
        asked = replace(asked, separation_of_duties=constant_duties(policy.rego_policy))
        if (duty := parties.duty_of(granter.named, asked)) is None:
            return
        kept_apart.append((duty, policy.policy_id))
    if kept_apart:
        duty, policy_id = kept_apart[0]
        who = f"owner of agent {grant.agent_id}" if duty is Duty.AGENT_OWNER else f"author of policy {policy_id}"
        raise ForbiddenError(
            f"Another person must give this grant: you are the {who}, and policy {policy_id} keeps you apart.",
            details={"separation_of_duties": duty.value, "policy_id": policy_id},
        )


def checked_reason(reason: str) -> str:
    """Raises ValidationError."""
    reason = reason.strip()
    if not reason or len(reason) > REASON_MAX_CHARACTERS or "\0" in reason:
        raise ValidationError(
            f"A reason is required, with at most {REASON_MAX_CHARACTERS} characters", details={"field": "reason"}
        )
    return reason


def granter_of(granter: Voter, at: datetime) -> Granter:
    """Raises ForbiddenError."""
    if granter.agent_id is not None or granter.user_id is None:
        raise ForbiddenError("Only a person can give grants. Use a person's token or session, or a key with an owner.")
    return Granter(granter.user_id, granter.email, granter.is_admin, at, granter.groups)


def _new(change: Change, granter: Voter, bounds: Bounds, calls: Calls, agent_id: str, policy_ids: set[str]) -> Grant:
    return Grant(
        org_id=change.org_id,
        grant_id=new_id(IdPrefix.GRANT),
        agent_id=agent_id,
        tool=calls.tool,
        operation=calls.operation,
        scope=calls.scope,
        policy_ids=frozenset(policy_ids),
        granters=(granter_of(granter, change.at),),
        max_uses=bounds.max_uses,
        uses=0,
        max_sum=bounds.max_sum,
        used_sum=Decimal(0),
        reason=checked_reason(bounds.reason),
        approval_id=None,
        created_at=change.at,
        expires_at=bounds.expires_at,
    )


async def _save(change: OrganizationChange, grant: Grant, max_seconds: int) -> None:
    _check_bounds(grant, max_seconds)
    await change.raise_generation()
    agent = await get_agent(change.connection, change.org_id, grant.agent_id)
    if agent.status is not AgentStatus.ACTIVE:
        raise ConflictError(f"the agent {grant.agent_id} is {agent.status}: grants are given to active agents only")
    if await count_in_force(change.connection, change.org_id) >= IN_FORCE_MAX:
        raise ConflictError(f"{IN_FORCE_MAX} grants are already in force. Revoke grants that are not needed.")
    await insert_grant(change.connection, grant)
    data: JsonObject = {
        "grant_id": grant.grant_id,
        "tool": grant.tool,
        "operation": grant.operation,
        "scope": scope_record(grant.scope),
        "policy_ids": [*sorted(grant.policy_ids)],
        "max_uses": grant.max_uses,
        "expires_at": rfc3339(grant.expires_at),
        "reason": grant.reason,
    }
    if grant.max_sum is not None:
        data |= {"sum_param": grant.scope.sum_param, "max_sum": str(grant.max_sum)}
    if grant.approval_id is not None:
        data["approval_id"] = grant.approval_id
    await change.record(EventType.GRANT_CREATED, data, agent_id=grant.agent_id)


def _check_bounds(grant: Grant, max_seconds: int) -> None:
    if not 1 <= grant.max_uses <= USES_MAX:
        raise ValidationError(f"max_uses must be from 1 to {USES_MAX}", details={"field": "max_uses"})
    if grant.expires_at <= grant.created_at:
        raise ValidationError("expires_at is in the past", details={"field": "expires_at"})
    if grant.expires_at - grant.created_at > timedelta(seconds=max_seconds):
        raise ValidationError(
            f"a grant lasts for at most {max_seconds} seconds (HEADGATE_GRANT_MAX_SECONDS)",
            details={"field": "expires_at", "max_seconds": max_seconds},
        )
    if (grant.max_sum is None) != (grant.scope.sum_param is None):
        raise ValidationError("a bound on a sum needs both the param and the bound", details={"field": "sum"})
    if grant.max_sum is not None and grant.max_sum <= 0:
        raise ValidationError("a sum must be more than 0", details={"field": "sum"})
