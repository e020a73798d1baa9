"""Columns of approvals and how to read their rows."""

import json
from typing import Final

from psycopg import sql
from psycopg.rows import DictRow

from headgate.approvals.model import Approval, ApprovalStatus, Edit
from headgate.policies.grant_terms import GrantTerms
from headgate.policies.model import Requirement
from headgate.policies.terms import Duty, RoleSlot

COLUMNS: Final = sql.SQL(
    "p.org_id, p.approval_id, p.action_id, p.agent_id, p.source, p.digest, p.status, p.requirements,"
    " p.required_approvals, p.current_approvals, p.reason, p.risk_level, p.policy_id, p.repeats, p.created_at,"
    " p.expires_at, p.held_until, p.decided_at, p.decided_by, p.comment, p.used_at, p.used_by, p.escalate_at,"
    " p.escalated_at, p.remind_after_seconds, p.remind_at, p.reminders, p.edited_request, p.edited_digest, p.edited_by,"
    " p.edited_at"
)

# Of json, not jsonb: a reason may hold U+0000, which jsonb refuses.
STATES_RISK: Final = sql.SQL(
    "EXISTS (SELECT FROM json_array_elements(a.decision::json -> 'policies') said"
    " WHERE (said -> 'risk_level') IS NOT NULL) AS states_risk"
)


def approval_from(row: DictRow) -> Approval:
    return Approval(
        org_id=row["org_id"],
        approval_id=row["approval_id"],
        action_id=row["action_id"],
        agent_id=row["agent_id"],
        source=row["source"],
        digest=bytes(row["digest"]),
        status=ApprovalStatus(row["status"]),
        requirements=requirements_from(row["requirements"]),
        required_approvals=row["required_approvals"],
        current_approvals=row["current_approvals"],
        reason=row["reason"],
        risk_level=row["risk_level"],
        policy_id=row["policy_id"],
        repeats=row["repeats"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        held_until=row["held_until"],
        decided_at=row["decided_at"],
        decided_by=row["decided_by"],
        comment=row["comment"],
        used_at=row["used_at"],
        used_by=row["used_by"],
        escalate_at=row["escalate_at"],
        escalated_at=row["escalated_at"],
        remind_after_seconds=row["remind_after_seconds"],
        remind_at=row["remind_at"],
        reminders=row["reminders"],
        edit=_edit(row),
    )


def _edit(row: DictRow) -> Edit | None:
    if row["edited_at"] is None:
        return None
    params = json.loads(row["edited_request"])["params"]
    return Edit(bytes(row["edited_digest"]), params, row["edited_by"], row["edited_at"])


def requirements_from(text: str) -> tuple[Requirement, ...]:
    """Reads requirements that ``Requirement.record`` wrote."""
    return tuple(
        Requirement(
            policy_id=one["policy_id"],
            policy_version=one["policy_version"],
            required_approvals=one["required_approvals"],
            assignees=tuple(one["assignees"]),
            denials_required=one.get("denials_required", 1),
            separation_of_duties=tuple(Duty(duty) for duty in one.get("separation_of_duties", [])),
            roles=tuple(RoleSlot(group, count) for group, count in one.get("roles", {}).items()),
            escalate_to=tuple(one.get("escalate_to", [])),
            reassigned=tuple(one["reassigned"]) if "reassigned" in one else None,
            is_escalated=one.get("escalated", False),
            grants=GrantTerms(**one.get("grants", {})),
        )
        for one in json.loads(text)
    )
