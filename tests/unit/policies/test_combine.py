"""The one decision that follows from what all policies say."""

import pytest

from headgate.policies.combine import combine, required_approvals
from headgate.policies.model import PolicyVerdict, Requirement, RiskLevel, Verdict
from headgate.policies.terms import ApprovalTerms
from headgate.traffic.model import CaptureLevel

ALLOW, DENY, ASK = Verdict.ALLOW, Verdict.DENY, Verdict.REQUIRE_APPROVAL


def says(verdict: Verdict | None, policy: str = "pol_a", priority: int = 100, **more: object) -> PolicyVerdict:
    return PolicyVerdict(policy, 1, priority, verdict, **more)  # type: ignore[arg-type]  # keywords of a test table


@pytest.mark.parametrize(
    ("verdicts", "decided", "policy_id"),
    [
        ([], DENY, None),
        ([says(None), says(None, "pol_b", 5)], DENY, None),
        ([says(ALLOW)], ALLOW, "pol_a"),
        ([says(ALLOW), says(ASK, "pol_b")], ASK, "pol_b"),
        ([says(ASK), says(DENY, "pol_b"), says(ALLOW, "pol_c")], DENY, "pol_b"),
        ([says(ALLOW, priority=1), says(DENY, "pol_b", 2)], ALLOW, "pol_a"),
        ([says(DENY, priority=9), says(ALLOW, "pol_b", 0)], ALLOW, "pol_b"),
        ([says(None, priority=1), says(DENY, "pol_b", 2)], DENY, "pol_b"),
    ],
)
def test_the_first_priority_that_speaks_decides_and_in_it_the_strictest(
    verdicts: list[PolicyVerdict], decided: Verdict, policy_id: str | None
) -> None:
    decision = combine(verdicts)
    assert (decision.verdict, decision.policy_id) == (decided, policy_id)


def test_nobody_spoke() -> None:
    decision = combine([says(None)], 0.5)
    assert decision.record() == {
        "decision": "deny",
        "reason": "no policy allows this action",
        "risk_level": "high",
        "policy_id": None,
        "evaluation_time_ms": 0.5,
        "policies": [],
    }


def test_the_record_names_the_risk_that_a_policy_states_and_no_other() -> None:
    stated, silent = says(ASK, risk_level=RiskLevel.HIGH), says(ASK)
    assert [one.get("risk_level") for one in (stated.record(), silent.record())] == ["high", None]
    assert combine([stated]).risk_level is combine([silent]).risk_level is RiskLevel.HIGH


@pytest.mark.parametrize(
    ("verdicts", "reason", "risk"),
    [
        ([says(ALLOW)], "a policy allows this action", RiskLevel.LOW),
        ([says(ASK)], "a policy requires approval of this action", RiskLevel.HIGH),
        ([says(DENY)], "a policy denies this action", RiskLevel.HIGH),
        ([says(ALLOW, risk_level=RiskLevel.MEDIUM)], "a policy allows this action", RiskLevel.MEDIUM),
        ([says(DENY, messages=("b", "a")), says(DENY, "pol_b", messages=("b", "a"))], "b; a", RiskLevel.HIGH),
        ([says(DENY, reason="r", messages=("m",)), says(DENY, "pol_b", error="e")], "r; e", RiskLevel.HIGH),
        # What a policy that did not decide thinks of the risk does not count.
        ([says(DENY, risk_level=RiskLevel.LOW), says(ALLOW, "b", risk_level=RiskLevel.CRITICAL)], None, RiskLevel.LOW),
        (
            [says(ASK, risk_level=RiskLevel.LOW), says(ASK, "pol_b", risk_level=RiskLevel.CRITICAL)],
            None,
            RiskLevel.CRITICAL,
        ),
    ],
)
def test_reason_and_risk(verdicts: list[PolicyVerdict], reason: str | None, risk: RiskLevel) -> None:
    decision = combine(verdicts)
    assert decision.risk_level is risk
    assert reason is None or decision.reason == reason


def test_everyone_of_the_deciding_priority_who_spoke_is_named() -> None:
    decision = combine([says(ALLOW), says(None, "pol_b"), says(DENY, "pol_c"), says(DENY, "pol_d", 101)])
    assert [one.policy_id for one in decision.spoken] == ["pol_a", "pol_c"]


def test_all_who_ask_are_to_be_satisfied_in_the_shortest_time() -> None:
    decision = combine(
        [
            says(ASK, terms=ApprovalTerms(2, ("ann", "bob"), 50.0, 600)),
            says(ASK, "pol_b", terms=ApprovalTerms(1, (), 10.0, 900, 30)),
            says(ALLOW, "pol_c", terms=ApprovalTerms(9, (), 0.0, 1, 1)),
        ]
    )
    assert decision.requirements == (Requirement("pol_a", 1, 2, ("ann", "bob")), Requirement("pol_b", 1, 1, ()))
    times = (decision.hold_seconds, decision.expires_in_seconds, decision.escalate_after_seconds)
    assert times == (10.0, 600, 30)
    assert required_approvals(decision.requirements) == 2


def test_what_is_not_held_has_no_requirements_and_no_times() -> None:
    decision = combine([says(DENY, terms=ApprovalTerms(2, (), 50.0, 600, 5)), says(ASK, "pol_b")])
    assert decision.requirements == ()
    assert (decision.hold_seconds, decision.expires_in_seconds, decision.escalate_after_seconds) == (None, None, None)


@pytest.mark.parametrize(
    ("verdicts", "kept"),
    [
        ([says(ALLOW)], None),
        ([says(ALLOW, capture=CaptureLevel.BODIES)], CaptureLevel.BODIES),
        ([says(ALLOW, capture=CaptureLevel.BODIES), says(ASK, "pol_b", capture=CaptureLevel.OFF)], CaptureLevel.OFF),
        ([says(ASK, capture=CaptureLevel.HEADS), says(ASK, "pol_b")], CaptureLevel.HEADS),
        # One that is not asked, or says nothing, does not say what is kept either.
        ([says(ALLOW), says(ALLOW, "pol_b", 500, capture=CaptureLevel.OFF)], None),
    ],
)
def test_the_least_that_any_that_spoke_lets_be_kept(verdicts: list[PolicyVerdict], kept: CaptureLevel | None) -> None:
    assert combine(verdicts).capture is kept
