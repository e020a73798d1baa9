"""What an approval that was given may still be used for."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.policies.model import (
    Decision,
    PolicyVerdict,
    Requirement,
    RiskLevel,
    Verdict,
    requirements_cover,
)
from headgate.policies.terms import Duty, RoleSlot


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


@pytest.mark.parametrize(
    ("held", "wanted", "covers"),
    [
        ({}, {"roles": (RoleSlot("security"),)}, False),
        ({"roles": (RoleSlot("security", 2),)}, {"roles": (RoleSlot("security"),)}, True),
        ({"roles": (RoleSlot("owners"),)}, {"roles": (RoleSlot("security"),)}, False),
        ({"denials_required": 2}, {}, False),
        ({}, {"denials_required": 2}, True),
        ({}, {"separation_of_duties": (Duty.AGENT_OWNER,)}, False),
        ({"separation_of_duties": tuple(Duty)}, {"separation_of_duties": (Duty.AGENT_OWNER,)}, True),
        # Whom a person or the clock asked besides is theirs to say; the policy's word is what is compared.
        ({"assignees": ("ann",), "reassigned": ("eve",)}, {"assignees": ("ann",)}, True),
        ({"assignees": ("ann",), "escalate_to": ("eve",), "is_escalated": True}, {"assignees": ("ann",)}, True),
    ],
)
def test_an_approval_covers_what_its_policy_demanded_of_the_people(
    held: dict[str, Any], wanted: dict[str, Any], covers: bool
) -> None:
    assert requirements_cover((replace(need(), **held),), (replace(need(), **wanted),)) is covers


def test_who_is_asked_now() -> None:
    asked = Requirement("pol_a", 1, 1, ("ann",), escalate_to=("eve", "ann"))
    assert asked.named == ("ann",)
    assert replace(asked, is_escalated=True).named == ("ann", "eve")
    assert replace(asked, is_escalated=True, reassigned=("bob",)).named == ("bob", "eve", "ann")
    # What is open to anybody stays so.
    assert replace(need(), escalate_to=("eve",), is_escalated=True).named == ()


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
