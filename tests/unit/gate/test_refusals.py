"""What an agent reads of a call that is not forwarded."""

from datetime import UTC, datetime

import pytest

from headgate.actions.recorded_entry import ActionRow
from headgate.gate.refusals import denied_by_policy, pending_error
from headgate.policies.combine import combine
from headgate.policies.model import Decision, PolicyVerdict, RiskLevel, Verdict

_NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
_ROW = ActionRow(
    "org_1", 1, "act_1", "agt_1", None, "proxy", "http", "post", "denied", bytes(32), b"{}", b"{}", "high", None, _NOW,
    None, None, None, None, "{}", "{}", None,
)  # fmt: skip


def said(verdict: Verdict, risk_level: RiskLevel | None, policy_id: str = "pol_1") -> PolicyVerdict:
    return PolicyVerdict(policy_id, 1, 100, verdict, risk_level=risk_level)


_DENIED = combine([said(Verdict.DENY, None)])


@pytest.mark.parametrize(
    ("decision", "risk"),
    [
        (_DENIED, None),
        (combine([]), None),
        (combine([said(Verdict.DENY, RiskLevel.HIGH)]), "high"),
        (combine([said(Verdict.DENY, RiskLevel.LOW)]), "low"),
        # The risk that a policy of another verdict states is not the risk of this decision.
        (combine([said(Verdict.DENY, None), said(Verdict.ALLOW, RiskLevel.LOW, "pol_2")]), None),
        # A stop and a canary token rate the risk without a policy.
        (Decision(Verdict.DENY, "stopped", RiskLevel.CRITICAL, None, 0.0, is_final=True), "critical"),
    ],
)
def test_a_denial_names_a_risk_that_is_stated(decision: Decision, risk: str | None) -> None:
    details = denied_by_policy(decision, _ROW).details
    assert details is not None
    assert details.get("risk_level") == risk
    assert ("risk_level" in details) is (risk is not None)


@pytest.mark.parametrize(("stated", "risk"), [(None, None), (RiskLevel.MEDIUM, "medium"), (RiskLevel.HIGH, "high")])
def test_a_held_call_names_a_risk_that_is_stated(stated: RiskLevel | None, risk: str | None) -> None:
    decision = combine([said(Verdict.REQUIRE_APPROVAL, stated)])
    error = pending_error(
        decision, action_id="act_1", approval_id="apr_1", expires_at=_NOW, public_api_url="https://headgate.example"
    )
    assert error.details is not None
    assert error.details.get("risk_level") == risk
