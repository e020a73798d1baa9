"""The figures that stand first in each kind of report."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from headgate.reports.blocks import Figure
from headgate.reports.frameworks import controls
from headgate.reports.model import ReportType
from headgate.reports.periods import waited_text
from headgate.reports.statements import Facts, Support, number


def _compliance(facts: Facts) -> Sequence[Figure]:
    claims = [one for control in controls(facts) for one in control.statements]
    supported = sum(one.support is Support.SUPPORTED for one in claims)
    contradicted = sum(one.support is Support.CONTRADICTED for one in claims)
    return [
        Figure("statements supported", f"{supported}", f"of {len(claims)}", "good"),
        Figure("not supported", f"{contradicted}", "the figure contradicts it", "bad" if contradicted else "plain"),
        Figure("nothing to show", f"{len(claims) - supported - contradicted}", "none happened in the range"),
        Figure("actions decided", facts.count("decided"), "by policy"),
        Figure("held for a person", facts.count("held")),
        Figure("denied", facts.count("denied")),
        Figure("policy changes", facts.count("policy_changes")),
        Figure("emergency access", facts.count("glass_broken"), tone="warning" if facts["glass_broken"] else "plain"),
    ]


def _activity(facts: Facts) -> Sequence[Figure]:
    return [
        Figure("actions decided", facts.count("decided")),
        Figure("allowed", facts.count("allowed")),
        Figure("held for a person", facts.count("held")),
        Figure("denied", facts.count("denied")),
        Figure("executions completed", facts.count("executions_completed")),
        Figure("executions failed", facts.count("executions_failed")),
        Figure("high or critical risk", facts.count("high_risk")),
        Figure("requests refused", facts.count("requests_refused"), "before they were actions"),
    ]


def _approvals(facts: Facts) -> Sequence[Figure]:
    longest = facts.tally.listing.waited_most_seconds
    return [
        Figure("requested", facts.count("approvals_requested")),
        Figure("approved", facts.count("approvals_approved")),
        Figure("denied", facts.count("approvals_denied")),
        Figure("expired", facts.count("approvals_expired")),
        Figure("open at the end", number(facts.tally.listing.open_count)),
        Figure("people and keys that decided", number(len(facts.tally.voters.counts))),
        Figure("longest wait", waited_text(longest) if longest else "none"),
        Figure("escalated", facts.count("approvals_escalated")),
    ]


def _policy_changes(facts: Facts) -> Sequence[Figure]:
    return [
        Figure("changes", facts.count("policy_changes")),
        Figure("by people", facts.count("policy_changes_by_people")),
        Figure("policies quarantined", facts.count("policies_quarantined")),
        Figure("decisions meanwhile", facts.count("decided")),
    ]


def _access(facts: Facts) -> Sequence[Figure]:
    return [
        Figure("agents created", facts.count("agents_created")),
        Figure("agents ended", facts.count("agents_ended")),
        Figure("keys issued", facts.count("keys_created")),
        Figure("keys revoked", facts.count("keys_revoked")),
        Figure("people added", facts.count("users_created")),
        Figure("people deactivated", facts.count("users_ended")),
        Figure("settings changed", facts.count("settings_changed")),
        Figure("emergency access", facts.count("glass_broken"), tone="warning" if facts["glass_broken"] else "plain"),
    ]


HEADLINES: Final[Mapping[ReportType, Callable[[Facts], Sequence[Figure]]]] = MappingProxyType(
    {
        ReportType.COMPLIANCE: _compliance,
        ReportType.ACTIVITY: _activity,
        ReportType.APPROVALS: _approvals,
        ReportType.POLICY_CHANGES: _policy_changes,
        ReportType.ACCESS: _access,
    }
)
