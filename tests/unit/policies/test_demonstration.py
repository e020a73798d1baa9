"""The four scenarios, decided by the engine."""

import pytest

from headgate.policies.demonstration import Scenario, demonstrate


@pytest.mark.parametrize(
    ("scenario", "decision", "risk_level", "policy_name", "says"),
    [
        (Scenario.DELETE_PROD_DATABASE, "deny", "critical", "Database statements", "DROP takes back nothing"),
        (
            Scenario.READ_CUSTOMER_PII, "require_approval", "high", "Customer data needs approval",
            "reads email, ssn of customers",
        ),
        (Scenario.SAFE_READ_ONLY_QUERY, "allow", None, "Database statements", ""),
        (
            Scenario.SEND_CHAT_MESSAGE, "require_approval", None, "Default: allow reads, hold writes",
            "slack.post_message is not a plain read",
        ),
    ],
)  # fmt: skip
def test_a_scenario(scenario, decision, risk_level, policy_name, says) -> None:
    shown = demonstrate(scenario)
    assert (shown.decision.verdict.value, shown.policy_name) == (decision, policy_name)
    assert says in shown.decision.reason
    if risk_level is not None:
        assert shown.decision.risk_level.value == risk_level
    assert shown.decision.spoken, "it was decided by a policy that spoke"
    assert "nothing was executed or recorded" in shown.warnings[0]
