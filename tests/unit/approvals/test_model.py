"""States by time, and what a retry gets: each line of semantics.md, "Retry, use, expiry"."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from headgate.approvals.history import EarlyEnd, HistoryVerb, Step, history
from headgate.approvals.model import (
    TRANSITIONS,
    USE_GRACE,
    Approval,
    ApprovalStatus,
    RetryAnswer,
    Vote,
    VoteDecision,
    answer_for_retry,
    move,
    state_at,
    usable_until,
)
from headgate.kernel.errors import ConflictError
from headgate.policies.model import Requirement

_NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
_HOUR = timedelta(hours=1)

PENDING = Approval(
    org_id="org_1",
    approval_id="apr_1",
    action_id="act_1",
    agent_id="agt_1",
    source="proxy",
    digest=bytes(32),
    status=ApprovalStatus.PENDING,
    requirements=(Requirement("pol_1", 1, 1),),
    required_approvals=1,
    current_approvals=0,
    reason="writes need a person",
    risk_level="high",
    policy_id="pol_1",
    repeats=None,
    created_at=_NOW,
    expires_at=_NOW + _HOUR,
)
APPROVED = replace(PENDING, status=ApprovalStatus.APPROVED, decided_at=_NOW + timedelta(minutes=1), decided_by="usr_1")
DENIED = replace(APPROVED, status=ApprovalStatus.DENIED, comment="no")
EXPIRED = replace(PENDING, status=ApprovalStatus.EXPIRED)
LATE = replace(APPROVED, decided_at=_NOW + timedelta(minutes=59))
_INSTANT = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("approval", "after", "state", "answer"),
    [
        (None, timedelta(0), None, RetryAnswer.ANEW),
        (PENDING, timedelta(0), ApprovalStatus.PENDING, RetryAnswer.HOLD),
        (PENDING, _HOUR - _INSTANT, ApprovalStatus.PENDING, RetryAnswer.HOLD),
        (PENDING, _HOUR, ApprovalStatus.EXPIRED, RetryAnswer.ANEW),
        (EXPIRED, timedelta(0), ApprovalStatus.EXPIRED, RetryAnswer.ANEW),
        (APPROVED, timedelta(minutes=2), ApprovalStatus.APPROVED, RetryAnswer.USE),
        (APPROVED, _HOUR - _INSTANT, ApprovalStatus.APPROVED, RetryAnswer.USE),
        (APPROVED, _HOUR, ApprovalStatus.APPROVED, RetryAnswer.ANEW),
        (LATE, _HOUR, ApprovalStatus.APPROVED, RetryAnswer.USE),
        (LATE, timedelta(minutes=59) + USE_GRACE - _INSTANT, ApprovalStatus.APPROVED, RetryAnswer.USE),
        (LATE, timedelta(minutes=59) + USE_GRACE, ApprovalStatus.APPROVED, RetryAnswer.ANEW),
        (replace(APPROVED, used_at=_NOW), timedelta(minutes=2), ApprovalStatus.APPROVED, RetryAnswer.ANEW),
        (DENIED, timedelta(minutes=2), ApprovalStatus.DENIED, RetryAnswer.DENIED),
        (DENIED, _HOUR - _INSTANT, ApprovalStatus.DENIED, RetryAnswer.DENIED),
        (DENIED, _HOUR, ApprovalStatus.DENIED, RetryAnswer.ANEW),
    ],
)
def test_what_a_retry_gets(
    approval: Approval | None, after: timedelta, state: ApprovalStatus | None, answer: RetryAnswer
) -> None:
    assert answer_for_retry(approval, _NOW + after) is answer
    if approval is not None:
        assert state_at(approval, _NOW + after) is state


@pytest.mark.parametrize("approval", [PENDING, DENIED, EXPIRED, replace(APPROVED, used_at=_NOW)])
def test_only_an_approved_unused_approval_is_usable(approval: Approval) -> None:
    assert usable_until(approval) is None


@pytest.mark.parametrize("current", ApprovalStatus)
@pytest.mark.parametrize("target", ApprovalStatus)
def test_only_pending_moves_and_only_once(current: ApprovalStatus, target: ApprovalStatus) -> None:
    is_withdrawn = (current, target) == (ApprovalStatus.APPROVED, ApprovalStatus.EXPIRED)
    if is_withdrawn or (current is ApprovalStatus.PENDING and target is not ApprovalStatus.PENDING):
        assert move("apr_1", current, target) is target
        assert target in TRANSITIONS[current]
    else:
        with pytest.raises(ConflictError, match=f"is {current} and cannot become {target}"):
            move("apr_1", current, target)


def test_history_tells_everything_in_order() -> None:
    votes = [
        Vote("apr_1", "usr_2", VoteDecision.APPROVE, None, _NOW + timedelta(seconds=30)),
        Vote("apr_1", "usr_1", VoteDecision.DENY, "no", _NOW + timedelta(minutes=1), email="u@example.com"),
    ]
    entries = history(DENIED, votes, _NOW + _HOUR * 2)
    assert [(entry.verb, entry.by) for entry in entries] == [
        (HistoryVerb.REQUESTED, "agt_1"),
        (HistoryVerb.APPROVED, "usr_2"),
        (HistoryVerb.DENIED, "usr_1"),
    ]
    assert history(PENDING, [], _NOW + _HOUR)[-1].verb is HistoryVerb.EXPIRED
    assert history(replace(APPROVED, used_at=_NOW + _HOUR, used_by="exe_1"), [], _NOW)[-1].by == "exe_1"


def test_assignees_are_named_once() -> None:
    two = (Requirement("pol_1", 1, 1, ("usr_1", "usr_2")), Requirement("pol_2", 1, 1, ("usr_2", "usr_3")))
    assert replace(PENDING, requirements=two).assignees == ("usr_1", "usr_2", "usr_3")


def test_the_history_has_the_steps_between_the_votes() -> None:
    minute = timedelta(minutes=1)
    votes = [Vote("apr_1", "usr_2", VoteDecision.APPROVE, None, _NOW + 2 * minute, on_behalf_of="usr_3")]
    steps = [
        Step(HistoryVerb.REASSIGNED, _NOW + minute, "usr_1", reason="on holiday", data={"assignees": ["usr_3"]}),
        Step(HistoryVerb.REMINDED, _NOW + 3 * minute, None),
    ]
    entries = history(PENDING, votes, _NOW + 4 * minute, steps)
    assert [(one.verb, one.by, one.on_behalf_of) for one in entries] == [
        (HistoryVerb.REQUESTED, "agt_1", None),
        (HistoryVerb.REASSIGNED, "usr_1", None),
        (HistoryVerb.APPROVED, "usr_2", "usr_3"),
        (HistoryVerb.REMINDED, None, None),
    ]
    assert (entries[1].reason, entries[1].data) == ("on holiday", {"assignees": ["usr_3"]})


def test_one_that_gave_way_says_to_which_and_when() -> None:
    end = EarlyEnd(_NOW + timedelta(minutes=5), "apr_2")
    last = history(EXPIRED, [], _NOW + _HOUR * 2, (), end)[-1]
    assert (last.verb, last.at, last.data) == (HistoryVerb.SUPERSEDED, end.at, {"by_approval": "apr_2"})
    taken_back = history(EXPIRED, [], _NOW + _HOUR * 2, (), replace(end, by_approval=None))[-1]
    assert (taken_back.verb, taken_back.at, taken_back.by) == (HistoryVerb.CANCELLED, end.at, "agt_1")
