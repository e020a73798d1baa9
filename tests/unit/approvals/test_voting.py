"""Who may vote and what a vote does: tables, and a state machine that plays any sequence of votes."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from headgate.approvals.model import Approval, ApprovalStatus, Vote, VoteDecision, state_at
from headgate.approvals.voting import Voter, all_met, cast_vote
from headgate.kernel.errors import ConflictError, ForbiddenError, HeadgateError, ValidationError
from headgate.policies.model import Requirement

_NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
_HOUR = timedelta(hours=1)
APPROVE, DENY = VoteDecision.APPROVE, VoteDecision.DENY

ALICE = Voter("usr_alice", "alice@example.com")
BOB = Voter("usr_bob", "bob@example.com")
CAROL = Voter("usr_carol")
ADMIN = Voter("usr_admin", is_admin=True)
ALICES_KEY = Voter("usr_alice", key_id="key_1")
OWNERLESS_KEY = Voter(None, key_id="key_2", is_admin=True)
AGENT_KEY = Voter("usr_alice", key_id="key_3", agent_id="agt_1", is_admin=True)


def _approval(*requirements: Requirement) -> Approval:
    demanded = requirements or (Requirement("pol_1", 1, 1),)
    return Approval(
        org_id="org_1",
        approval_id="apr_1",
        action_id="act_1",
        agent_id="agt_1",
        source="proxy",
        digest=bytes(32),
        status=ApprovalStatus.PENDING,
        requirements=demanded,
        required_approvals=max(one.required_approvals for one in demanded),
        current_approvals=0,
        reason="writes need a person",
        risk_level="high",
        policy_id="pol_1",
        repeats=None,
        created_at=_NOW,
        expires_at=_NOW + _HOUR,
    )


def _needs(count: int, *assignees: str, policy: str = "pol_1") -> Requirement:
    return Requirement(policy, 1, count, assignees)


_ANY_TWO = _needs(2, policy="pol_2")


def _play(
    approval: Approval, steps: Sequence[tuple[Voter, VoteDecision]], now: datetime = _NOW
) -> tuple[Approval, list[Vote]]:
    votes: list[Vote] = []
    for voter, decision in steps:
        outcome = cast_vote(approval, votes, voter, decision=decision, reason="because", now=now)
        approval = outcome.approval
        votes.append(outcome.vote)
    return approval, votes


@pytest.mark.parametrize(
    ("requirements", "steps", "status", "counted"),
    [
        ([], [(ALICE, APPROVE)], ApprovalStatus.APPROVED, 1),
        ([], [(ALICE, DENY)], ApprovalStatus.DENIED, 0),
        ([], [(OWNERLESS_KEY, APPROVE)], ApprovalStatus.APPROVED, 1),
        ([_needs(2)], [(ALICE, APPROVE)], ApprovalStatus.PENDING, 1),
        ([_needs(2)], [(ALICE, APPROVE), (BOB, APPROVE)], ApprovalStatus.APPROVED, 2),
        ([_needs(2)], [(ALICE, APPROVE), (BOB, DENY)], ApprovalStatus.DENIED, 1),
        ([_needs(1, "usr_bob")], [(BOB, APPROVE)], ApprovalStatus.APPROVED, 1),
        ([_needs(1, "BOB@example.com")], [(BOB, APPROVE)], ApprovalStatus.APPROVED, 1),
        ([_needs(1, "usr_bob")], [(ADMIN, APPROVE)], ApprovalStatus.APPROVED, 1),
        # One requirement per policy, all to be met.
        ([_needs(1, "usr_alice"), _needs(1, "usr_bob", policy="pol_2")], [(ALICE, APPROVE)], ApprovalStatus.PENDING, 1),
        (
            [_needs(1, "usr_alice"), _needs(1, "usr_bob", policy="pol_2")],
            [(ALICE, APPROVE), (BOB, APPROVE)],
            ApprovalStatus.APPROVED,
            2,
        ),
        ([_needs(1, "usr_alice"), _needs(1, policy="pol_2")], [(BOB, APPROVE)], ApprovalStatus.PENDING, 1),
        ([_needs(1, "usr_alice"), _needs(1, policy="pol_2")], [(ALICE, APPROVE)], ApprovalStatus.APPROVED, 1),
        ([_needs(1, "usr_alice"), _ANY_TWO], [(BOB, APPROVE), (CAROL, APPROVE)], ApprovalStatus.PENDING, 2),
        # An administrator's vote counts for each requirement, once.
        ([_needs(1, "usr_alice"), _ANY_TWO], [(ADMIN, APPROVE), (CAROL, APPROVE)], ApprovalStatus.APPROVED, 2),
        ([_needs(1, "usr_alice"), _needs(1, "usr_bob", policy="pol_2")], [(BOB, DENY)], ApprovalStatus.DENIED, 0),
    ],
)  # fmt: skip
def test_what_votes_make_of_an_approval(
    requirements: list[Requirement], steps: list[tuple[Voter, VoteDecision]], status: ApprovalStatus, counted: int
) -> None:
    approval, votes = _play(_approval(*requirements), steps)
    assert (approval.status, approval.current_approvals) == (status, counted)
    if status is ApprovalStatus.PENDING:
        assert (approval.decided_at, approval.decided_by) == (None, None)
    else:
        assert (approval.decided_at, approval.decided_by) == (_NOW, votes[-1].voter_id)
        assert approval.comment == "because"


@pytest.mark.parametrize(
    ("requirements", "before", "voter", "error", "says"),
    [
        ([], [], AGENT_KEY, ForbiddenError, "An agent key cannot decide"),
        ([_needs(2)], [], OWNERLESS_KEY, ForbiddenError, "a key without a user"),
        ([_needs(1, "usr_bob"), _needs(2, policy="pol_2")], [], OWNERLESS_KEY, ForbiddenError, "a key without a user"),
        ([_needs(1, "usr_bob")], [], ALICE, ForbiddenError, "only the assignees"),
        ([_needs(1, "bob@example.com")], [], CAROL, ForbiddenError, "only the assignees"),
        ([_needs(2)], [ALICE], ALICE, ConflictError, "you have already voted on approval apr_1: approve"),
        ([_needs(2)], [ALICE], ALICES_KEY, ConflictError, "you have already voted"),
        ([], [ALICE], BOB, ConflictError, "already approved by usr_alice at 2026-11-21T08:00:00.000000Z"),
        ([], [], Voter(None), ForbiddenError, "a vote needs a user or a key"),
    ],
)
@pytest.mark.parametrize("decision", VoteDecision)
def test_who_may_not_vote(
    requirements: list[Requirement],
    before: list[Voter],
    voter: Voter,
    error: type[HeadgateError],
    says: str,
    decision: VoteDecision,
) -> None:
    approval, votes = _play(_approval(*requirements), [(one, APPROVE) for one in before])
    with pytest.raises(error, match=says):
        cast_vote(approval, votes, voter, decision=decision, reason="because", now=_NOW)


def test_a_conflict_says_what_the_state_is_and_who_made_it_so() -> None:
    denied, votes = _play(_approval(), [(ALICE, DENY)])
    with pytest.raises(ConflictError) as raised:
        cast_vote(denied, votes, BOB, decision=APPROVE, reason=None, now=_NOW)
    assert raised.value.details == {
        "approval_id": "apr_1",
        "status": "denied",
        "decided_by": "usr_alice",
        "decided_at": "2026-11-21T08:00:00.000000Z",
    }


def test_time_ends_an_approval_whose_row_still_says_pending() -> None:
    with pytest.raises(ConflictError, match="already expired"):
        cast_vote(_approval(), [], ALICE, decision=APPROVE, reason=None, now=_NOW + _HOUR)


@pytest.mark.parametrize(
    ("decision", "reason", "stored"),
    [
        (APPROVE, None, None),
        (APPROVE, "  ", None),
        (APPROVE, " fine ", "fine"),
        (APPROVE, "x" * 500, "x" * 500),
        (DENY, "no", "no"),
    ],
)
def test_reasons_that_are_taken(decision: VoteDecision, reason: str | None, stored: str | None) -> None:
    assert cast_vote(_approval(), [], ALICE, decision=decision, reason=reason, now=_NOW).vote.reason == stored


@pytest.mark.parametrize(
    ("decision", "reason"),
    [(DENY, None), (DENY, ""), (DENY, " \n"), (DENY, "x" * 501), (APPROVE, "x" * 501), (DENY, "a\0b")],
)
def test_reasons_that_are_refused(decision: VoteDecision, reason: str | None) -> None:
    with pytest.raises(ValidationError) as raised:
        cast_vote(_approval(), [], ALICE, decision=decision, reason=reason, now=_NOW)
    assert raised.value.details is not None
    assert raised.value.details["field"] == "reason"


def test_an_approval_without_requirements_is_never_met() -> None:
    empty = replace(_approval(), requirements=())
    assert not all_met(empty, [Vote("apr_1", "usr_alice", APPROVE, None, _NOW)])


_VOTERS = [ALICE, ALICES_KEY, BOB, CAROL, ADMIN, OWNERLESS_KEY, AGENT_KEY]
_PEOPLE = ["usr_alice", "bob@example.com", "usr_carol"]


class AnySequenceOfVotes(RuleBasedStateMachine):
    """The rules against an independent, naive reading of them."""

    @initialize(
        demanded=st.lists(
            st.tuples(st.integers(1, 3), st.lists(st.sampled_from(_PEOPLE), unique=True, max_size=3)),
            min_size=1,
            max_size=3,
        )
    )
    def ask(self, demanded: list[tuple[int, list[str]]]) -> None:
        self.approval = _approval(
            *(_needs(count, *people, policy=f"pol_{number}") for number, (count, people) in enumerate(demanded))
        )
        self.votes: list[Vote] = []
        self.now = _NOW
        self.decided: Approval | None = None

    @rule(minutes=st.integers(0, 20))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(voter=st.sampled_from(_VOTERS), decision=st.sampled_from(VoteDecision))
    def vote(self, voter: Voter, decision: VoteDecision) -> None:
        before = self.approval
        try:
            outcome = cast_vote(before, self.votes, voter, decision=decision, reason="r", now=self.now)
        except HeadgateError:
            assert self._must_be_refused(voter)
            return
        assert not self._must_be_refused(voter)
        self.approval = outcome.approval
        self.votes.append(outcome.vote)

    def _must_be_refused(self, voter: Voter) -> bool:
        return (
            voter.agent_id is not None
            or self.approval.status is not ApprovalStatus.PENDING
            or self.now >= self.approval.expires_at
            or voter.voter_id in {vote.voter_id for vote in self.votes}
            or (voter.user_id is None and self.approval.required_approvals > 1)
            or not any(self._eligible(voter, one) for one in self.approval.requirements)
        )

    @staticmethod
    def _eligible(voter: Voter | Vote, requirement: Requirement) -> bool:
        admin = voter.is_admin if isinstance(voter, Voter) else voter.as_admin
        return not requirement.assignees or admin or not {voter.voter_id, voter.email}.isdisjoint(requirement.assignees)

    @precondition(lambda self: self.approval.status is not ApprovalStatus.PENDING)
    @rule()
    def decided_stays_decided(self) -> None:
        assert self.decided in (None, self.approval)
        self.decided = self.approval

    @invariant()
    def the_status_follows_from_the_votes(self) -> None:
        if not hasattr(self, "approval"):
            return
        approvals = [vote for vote in self.votes if vote.decision is APPROVE]
        denials = [vote for vote in self.votes if vote.decision is DENY]
        met = all(
            sum(self._eligible(vote, one) for vote in approvals) >= one.required_approvals
            for one in self.approval.requirements
        )
        expected = ApprovalStatus.DENIED if denials else ApprovalStatus.APPROVED if met else ApprovalStatus.PENDING
        assert self.approval.status is expected
        assert len(denials) <= 1
        assert self.approval.current_approvals == len(approvals)
        assert len({vote.voter_id for vote in self.votes}) == len(self.votes)
        if expected is not ApprovalStatus.PENDING:
            assert state_at(self.approval, self.now) is expected


TestAnySequenceOfVotes = AnySequenceOfVotes.TestCase
