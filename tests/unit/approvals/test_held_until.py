"""Until when an agent waits."""

from datetime import UTC, datetime, timedelta

import pytest

from admin_api.approvals.schemas import approval_answer
from headgate.approvals.model import Approval, ApprovalStatus
from headgate.approvals.store import HeldAction
from headgate.policies.model import Decision, RiskLevel, Verdict

_MADE = datetime(2026, 11, 1, tzinfo=UTC)


def _approval(status: ApprovalStatus, held_until: datetime | None) -> Approval:
    return Approval(
        org_id="org_1", approval_id="apr_1", action_id="act_1", agent_id="agt_1", source="proxy", digest=b"",
        status=status, requirements=(), required_approvals=1, current_approvals=0, reason="waits", risk_level="high",
        policy_id=None, repeats=None, created_at=_MADE, expires_at=_MADE + timedelta(minutes=9), held_until=held_until,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "held_seconds", "after_seconds", "is_held"),
    [
        (ApprovalStatus.PENDING, 50, 49, True),
        (ApprovalStatus.PENDING, 50, 50, False),
        (ApprovalStatus.PENDING, None, 0, False),
        (ApprovalStatus.APPROVED, 50, 10, False),
        (ApprovalStatus.PENDING, 600, 540, False),  # it has expired
    ],
)
def test_an_agent_waits_until_its_time_is_over_or_the_request_is_decided(
    status: ApprovalStatus, held_seconds: int | None, after_seconds: int, is_held: bool
) -> None:
    held_until = None if held_seconds is None else _MADE + timedelta(seconds=held_seconds)
    now = _MADE + timedelta(seconds=after_seconds)
    answer = approval_answer(_approval(status, held_until), HeldAction("http", "post", {}, None), now)
    assert answer.held_until == (held_until if is_held else None)


@pytest.mark.parametrize("hold_seconds", [None, 0.0, 600.0])
def test_the_recorded_decision_has_the_hold_time_that_a_policy_sets(hold_seconds: float | None) -> None:
    decision = Decision(Verdict.REQUIRE_APPROVAL, "waits", RiskLevel.HIGH, None, 0.1, hold_seconds=hold_seconds)
    assert decision.record().get("hold_seconds") == hold_seconds
