"""The figures that reports rest on: each a query over the run's events (``headgate.reports.queries``)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from headgate.reports.queries import Query

_SUBMITTED: Final = ("action.submitted",)
_DECIDED: Final = ("decision.made",)
_HIGH: Final = ("data.risk_level", ("high", "critical"))
_POLICY_CHANGES: Final = (
    "policy.created", "policy.updated", "policy.deleted", "policy.restored", "policy_data.*", "policy_module.*",
    "nlp_policy.*",
)  # fmt: skip

FIGURES: Final[Mapping[str, Query]] = MappingProxyType(
    {
        "events": Query(),
        "events_by_agents": Query(where=(("actor.type", ("agent",)),)),
        "events_by_users": Query(where=(("actor.type", ("user",)),)),
        "events_by_system": Query(where=(("actor.type", ("system",)),)),
        "submitted": Query(_SUBMITTED),
        "submitted_identified": Query(_SUBMITTED, (("actor.type", ("agent",)),), ("actor.id", "data.key_id")),
        "submitted_bound": Query(_SUBMITTED, given=("data.digest", "data.request_digest")),
        "decided": Query(_DECIDED),
        "allowed": Query(_DECIDED, (("data.decision", ("allow",)),)),
        "denied": Query(_DECIDED, (("data.decision", ("deny",)),)),
        "held": Query(_DECIDED, (("data.decision", ("require_approval",)),)),
        "decided_reasoned": Query(_DECIDED, given=("data.reason",)),
        "decided_by_policy": Query(_DECIDED, given=("data.policy_id",)),
        "high_risk": Query(_DECIDED, (_HIGH,)),
        "high_risk_allowed": Query(_DECIDED, (_HIGH, ("data.decision", ("allow",)))),
        "high_risk_held": Query(_DECIDED, (_HIGH, ("data.decision", ("require_approval",)))),
        "high_risk_denied": Query(_DECIDED, (_HIGH, ("data.decision", ("deny",)))),
        "content_checked": Query(_DECIDED, given=("data.nlp",)),
        "exempted": Query(_DECIDED, given=("data.exempted_by",)),
        "approvals_requested": Query(("approval.requested",)),
        "approvals_approved": Query(("approval.approved",)),
        "approvals_denied": Query(("approval.denied",)),
        "approvals_expired": Query(("approval.expired",)),
        "approvals_decided": Query(("approval.approved", "approval.denied")),
        "approvals_decided_by_people": Query(("approval.approved", "approval.denied"), (("actor.type", ("user",)),)),
        "approvals_by_agents": Query(("approval.approved", "approval.denied"), (("actor.type", ("agent",)),)),
        "approvals_escalated": Query(("approval.escalated",)),
        "executions_started": Query(("execution.started",)),
        "executions_completed": Query(("execution.completed",)),
        "executions_failed": Query(("execution.failed",)),
        "answers_withheld": Query(("response.withheld",)),
        "requests_refused": Query(("request.refused",), summed="data.count"),
        "destinations_blocked": Query(
            ("request.refused",), (("data.code", ("DESTINATION_BLOCKED",)),), summed="data.count"
        ),
        "policy_changes": Query(_POLICY_CHANGES),
        "policy_changes_by_people": Query(_POLICY_CHANGES, (("actor.type", ("user",)),)),
        "policies_quarantined": Query(("policy.quarantined",)),
        "settings_changed": Query(("setting.*",)),
        "agents_created": Query(("agent.created",)),
        "agents_ended": Query(("agent.deactivated", "agent.suspended")),
        "keys_created": Query(("key.created", "key.rotated")),
        # The instance makes a key for its first agent by itself, without an end.
        "keys_issued": Query(("key.created", "key.rotated"), (("actor.type", ("user", "agent")),)),
        "keys_expiring": Query(
            ("key.created", "key.rotated"), (("actor.type", ("user", "agent")),), given=("data.expires_at",)
        ),
        "keys_revoked": Query(("key.revoked",)),
        "users_created": Query(("user.created",)),
        "users_ended": Query(("user.deactivated",)),
        "stops_placed": Query(("stop.placed",)),
        "stops_lifted": Query(("stop.lifted",)),
        "grants_created": Query(("grant.created",)),
        "grants_revoked": Query(("grant.revoked",)),
        "glass_broken": Query(("break_glass.opened",)),
        "glass_reviewed": Query(("break_glass.reviewed",)),
        "packs_exported": Query(("proof_pack.exported",)),
        "reports_downloaded": Query(("report.downloaded",)),
    }
)
"""By the name under which statements and tables ask for them."""
