"""What an approval that was given may still be used for."""

import pytest

from headgate.policies.model import (
    Decision,
    PolicyVerdict,
    Requirement,
    RiskLevel,
    Verdict,
    requirements_cover,
)


def need(policy: str = "pol_a", approvals: int = 1, *assignees: str, version: int = 1) -> Requirement:
    return Requirement(policy, version, approvals, assignees)


@pytest.mark.parametrize(
    ("held", "wanted", "covers"),
    [
        ([need()], [need()], True),
        ([need()], [], True),
        ([], [need()], False),
        ([need()], [need(version=7)], True),  # a new version that asks no more
        ([need("pol_a")], [need("pol_b")], False),
        ([need(approvals=2)], [need(approvals=1)], True),
        ([need("pol_a", 1)], [need("pol_a", 2)], False),
        ([need("pol_a"), need("pol_b")], [need("pol_b")], True),
        ([need("pol_a")], [need("pol_a"), need("pol_b")], False),
        ([need("pol_a", 1, "ann")], [need()], True),
        ([need()], [need("pol_a", 1, "ann")], False),  # anybody may have approved
        ([need("pol_a", 1, "ann")], [need("pol_a", 1, "ann", "bob")], True),
        ([need("pol_a", 1, "ann", "eve")], [need("pol_a", 1, "ann", "bob")], False),
    ],
)
def test_an_approval_covers_a_call_only_if_nothing_more_is_demanded(
    held: list[Requirement], wanted: list[Requirement], covers: bool
) -> None:
    assert requirements_cover(tuple(held), tuple(wanted)) is covers


def test_the_record_of_a_decision_names_the_versions_that_made_it() -> None:
    said = PolicyVerdict("pol_a", 3, 100, Verdict.DENY, messages=("no", "never"))
    broken = PolicyVerdict("pol_b", 1, 100, Verdict.DENY, error="it failed")
    silent_reason = PolicyVerdict("pol_c", 2, 100, Verdict.ALLOW)
    decision = Decision(Verdict.DENY, "no", RiskLevel.HIGH, "pol_a", 0.125, (said, broken, silent_reason))
    assert decision.record() == {
        "decision": "deny",
        "reason": "no",
        "risk_level": "high",
        "policy_id": "pol_a",
        "evaluation_time_ms": 0.125,
        "policies": [
            {"id": "pol_a", "version": 3, "decision": "deny", "reason": "no; never"},
            {"id": "pol_b", "version": 1, "decision": "deny", "reason": "it failed", "error": True},
            {"id": "pol_c", "version": 2, "decision": "allow"},
        ],
    }
