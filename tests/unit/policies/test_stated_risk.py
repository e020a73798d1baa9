import pytest

from headgate.policies.model import Verdict
from headgate.policies.stated_risk import is_risk_stated


@pytest.mark.parametrize(
    ("verdict", "risk_level", "is_named", "is_stated"),
    [
        (Verdict.REQUIRE_APPROVAL, "high", False, False),
        (Verdict.REQUIRE_APPROVAL, "high", True, True),
        (Verdict.REQUIRE_APPROVAL, "medium", False, True),
        (Verdict.ALLOW, "low", False, False),
        # A stop and a canary token rate the risk without a policy.
        (Verdict.DENY, "critical", False, True),
        (Verdict.DENY, "high", False, False),
    ],
)
def test_a_default_is_no_statement(verdict: Verdict, risk_level: str, is_named: bool, is_stated: bool) -> None:
    assert is_risk_stated(verdict, risk_level, is_named=is_named) is is_stated
