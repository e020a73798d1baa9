"""Until when an agent waits: as long as its policies hold the call, or else as long as the gateway does."""

from datetime import UTC, datetime, timedelta

import pytest

from admin_api.approvals.schemas import approval_answer
from headgate.approvals.model import Approval, ApprovalStatus
from headgate.approvals.store import HeldAction
from headgate.policies.model import Decision, RiskLevel, Verdict

_MADE = datetime(2026, 11, 1, tzinfo=UTC)


def _approval(source: str) -> Approval:
    return Approval(
        org_id="org_1", approval_id="apr_1", action_id="act_1", agent_id="agt_1", source=source, digest=b"",
        status=ApprovalStatus.PENDING, requirements=(), required_approvals=1, current_approvals=0, reason="waits",
        risk_level="high", policy_id=None, repeats=None, created_at=_MADE, expires_at=_MADE + timedelta(days=1),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("source", "hold_seconds", "after_seconds", "left_seconds"),
    [
        ("proxy", None, 10, 40), ("proxy", 600.0, 10, 590), ("proxy", 2.0, 10, None), ("proxy", 0.0, 0, None),
        ("proxy", None, 50, None), ("api", 600.0, 10, None),
    ],
)  # fmt: skip
def test_held_until(source: str, hold_seconds: float | None, after_seconds: int, left_seconds: int | None) -> None:
    now = _MADE + timedelta(seconds=after_seconds)
    answer = approval_answer(_approval(source), HeldAction("http", "post", {}, None, hold_seconds), now, 50)
    assert answer.held_until == (None if left_seconds is None else now + timedelta(seconds=left_seconds))


@pytest.mark.parametrize("hold_seconds", [None, 0.0, 600.0])
def test_the_recorded_decision_has_the_hold_time_that_a_policy_sets(hold_seconds: float | None) -> None:
    decision = Decision(Verdict.REQUIRE_APPROVAL, "waits", RiskLevel.HIGH, None, 0.1, hold_seconds=hold_seconds)
    assert decision.record().get("hold_seconds") == hold_seconds
