"""What a policy may demand of the people who decide: roles, numbers of denials, other people, stand-ins."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from headgate.approvals.attention import MOST_REMINDERS, escalated, escalation_time, reminded, reminder_time
from headgate.approvals.model import Approval, ApprovalStatus, Edit, Vote, VoteDecision
from headgate.approvals.reassigning import parse_assignees, reassigned
from headgate.approvals.standing import NO_PARTIES, Named, Parties
from headgate.approvals.voting import Voter, cast_vote
from headgate.kernel.errors import ConflictError, ForbiddenError, HeadgateError, NotFoundError, ValidationError
from headgate.policies.model import Requirement
from headgate.policies.terms import Duty, RoleSlot

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
APPROVE, DENY = VoteDecision.APPROVE, VoteDecision.DENY

SECURITY = frozenset({"security"})
ALICE = Voter("usr_alice", "alice@example.com")
BOB = Voter("usr_bob", "bob@example.com")
SAM = Voter("usr_sam", groups=SECURITY)
SUE = Voter("usr_sue", groups=SECURITY)
OTTO = Voter("usr_otto", groups=frozenset({"owners"}))
BOTH = Voter("usr_both", groups=frozenset({"owners", "security"}))
ADMIN = Voter("usr_admin", is_admin=True)
KEY = Voter(None, key_id="key_1", is_admin=True)
BOB_FOR_ALICE = replace(BOB, stands_in_for=(Named("usr_alice", "alice@example.com"),))
BOB_FOR_ALICE_2 = replace(
    BOB, stands_in_for=(Named("usr_alice_2", "alice@example.com", also=frozenset({"usr_alice"})),)
)
BOB_FOR_SAM = replace(BOB, stands_in_for=(Named("usr_sam", None, SECURITY),))

ONE_OF_EACH = Requirement("pol_1", 1, 2, roles=(RoleSlot("owners"), RoleSlot("security")))
TWO_DENIALS = Requirement("pol_1", 1, 2, denials_required=2)
FOR_ALICE = Requirement("pol_1", 1, 1, ("alice@example.com",))
APART = Requirement("pol_1", 4, 1, separation_of_duties=tuple(Duty))


def asked(*requirements: Requirement) -> Approval:
    return Approval(
        org_id="org_1", approval_id="apr_1", action_id="act_1", agent_id="agt_1", source="api", digest=bytes(32),
        status=ApprovalStatus.PENDING, requirements=requirements,
        required_approvals=max(one.required_approvals for one in requirements), current_approvals=0, reason="look",
        risk_level="high", policy_id="pol_1", repeats=None, created_at=NOW, expires_at=NOW + HOUR,
    )  # fmt: skip


def play(
    approval: Approval, *steps: tuple[Voter, VoteDecision], parties: Parties = NO_PARTIES
) -> tuple[Approval, list[Vote]]:
    votes: list[Vote] = []
    for voter, decision in steps:
        outcome = cast_vote(approval, votes, voter, decision=decision, reason="why", now=NOW, parties=parties)
        approval = outcome.approval
        votes.append(outcome.vote)
    return approval, votes


@pytest.mark.parametrize(
    ("requirements", "steps", "status"),
    [
        ([ONE_OF_EACH], [(SAM, APPROVE), (OTTO, APPROVE)], "approved"),
        ([ONE_OF_EACH], [(SAM, APPROVE), (SUE, APPROVE)], "pending"),
        ([ONE_OF_EACH], [(BOTH, APPROVE)], "pending"),
        ([ONE_OF_EACH], [(BOTH, APPROVE), (SAM, APPROVE)], "approved"),
        ([ONE_OF_EACH], [(SAM, DENY)], "denied"),
        # Nobody fills a role by being an administrator; stopping is another matter.
        ([ONE_OF_EACH], [(SAM, APPROVE), (ADMIN, DENY)], "denied"),
        ([TWO_DENIALS], [(ALICE, DENY)], "pending"),
        ([TWO_DENIALS], [(ALICE, DENY), (BOB, DENY)], "denied"),
        ([TWO_DENIALS], [(ALICE, DENY), (BOB, APPROVE), (SAM, APPROVE)], "approved"),
        ([TWO_DENIALS, Requirement("pol_2", 1, 1)], [(ALICE, DENY)], "denied"),
        ([FOR_ALICE], [(BOB_FOR_ALICE, APPROVE)], "approved"),
        ([ONE_OF_EACH], [(BOB_FOR_SAM, APPROVE), (OTTO, APPROVE)], "approved"),
        ([FOR_ALICE, Requirement("pol_2", 1, 1)], [(BOB_FOR_ALICE, APPROVE)], "approved"),
    ],
)
def test_what_the_votes_make_of_it(
    requirements: list[Requirement], steps: list[tuple[Voter, VoteDecision]], status: str
) -> None:
    approval, votes = play(asked(*requirements), *steps)
    assert approval.status == status
    if status != "pending":
        assert approval.decided_by == votes[-1].voter_id


OWNED = Parties(frozenset({"usr_alice"}), {"pol_1": frozenset({"usr_bob"})})


@pytest.mark.parametrize(
    ("requirement", "before", "voter", "parties", "error", "says"),
    [
        (ONE_OF_EACH, [], ALICE, NO_PARTIES, ForbiddenError, "only members of group:owners, group:security"),
        (ONE_OF_EACH, [], ADMIN, NO_PARTIES, ForbiddenError, "only members of"),
        (APART, [], ALICE, OWNED, ForbiddenError, "you are the owner of agent agt_1"),
        (APART, [], BOB, OWNED, ForbiddenError, "you are the author of policy pol_1"),
        (APART, [], replace(ALICE, is_admin=True), OWNED, ForbiddenError, "you are the owner"),
        (APART, [], replace(ALICE, key_id="key_2"), OWNED, ForbiddenError, "you are the owner"),
        (APART, [], KEY, NO_PARTIES, ForbiddenError, "separation of duties applies"),
        (TWO_DENIALS, [], KEY, NO_PARTIES, ForbiddenError, "a key without a user"),
        (FOR_ALICE, [], BOB, NO_PARTIES, ForbiddenError, "only the assignees"),
        # Whoever may not decide has no stand-in for it either.
        (
            replace(APART, assignees=("usr_alice",)),
            [],
            BOB_FOR_ALICE,
            Parties(frozenset({"usr_alice"})),
            ForbiddenError,
            "only the",
        ),
        # Another user of the same person is that person.
        (APART, [], replace(SAM, also=frozenset({"usr_alice"})), OWNED, ForbiddenError, "you are the owner"),
        (
            replace(APART, assignees=("usr_alice_2",)),
            [],
            BOB_FOR_ALICE_2,
            Parties(frozenset({"usr_alice"})),
            ForbiddenError,
            "only the",
        ),
        (
            replace(FOR_ALICE, required_approvals=2),
            [ALICE],
            BOB_FOR_ALICE_2,
            NO_PARTIES,
            ForbiddenError,
            "only the assignees",
        ),
        # Not twice: not as oneself and in another's place, and not a person and their stand-in.
        (
            replace(FOR_ALICE, required_approvals=2),
            [BOB_FOR_ALICE],
            BOB_FOR_ALICE,
            NO_PARTIES,
            ConflictError,
            "you have already voted",
        ),
        (
            replace(FOR_ALICE, required_approvals=2),
            [BOB_FOR_ALICE],
            ALICE,
            NO_PARTIES,
            ConflictError,
            "already voted for you",
        ),
        (
            replace(FOR_ALICE, required_approvals=2),
            [ALICE],
            BOB_FOR_ALICE,
            NO_PARTIES,
            ForbiddenError,
            "only the assignees",
        ),
    ],
)
def test_who_may_not(
    requirement: Requirement,
    before: list[Voter],
    voter: Voter,
    parties: Parties,
    error: type[HeadgateError],
    says: str,
) -> None:
    approval, votes = play(asked(requirement), *((one, APPROVE) for one in before))
    with pytest.raises(error, match=says):
        cast_vote(approval, votes, voter, decision=APPROVE, reason=None, now=NOW, parties=parties)


def test_a_vote_in_anothers_place_says_so() -> None:
    _, votes = play(asked(FOR_ALICE), (BOB_FOR_ALICE, APPROVE))
    assert (votes[0].voter_id, votes[0].on_behalf_of) == ("usr_bob", "usr_alice")
    _, own = play(asked(Requirement("pol_1", 1, 1)), (BOB_FOR_ALICE, APPROVE))
    assert own[0].on_behalf_of is None  # who may anyway, does so in their own name


def test_what_counted_goes_on_counting() -> None:
    """Who leaves a group, or is asked no more, has voted all the same."""
    approval, votes = play(asked(ONE_OF_EACH), (SAM, APPROVE))
    again = replace(approval, requirements=(replace(ONE_OF_EACH, reassigned=("usr_bob",)),))
    outcome = cast_vote(again, votes, OTTO, decision=APPROVE, reason=None, now=NOW)
    assert outcome.approval.status is ApprovalStatus.APPROVED


def test_nobody_approves_an_edited_action_unseen() -> None:
    edited = replace(asked(TWO_DENIALS), edit=Edit(b"\1" * 32, {}, "usr_sam", NOW))
    for seen in (None, bytes(32)):
        with pytest.raises(ConflictError, match="usr_sam edited it") as raised:
            cast_vote(edited, [], ALICE, decision=APPROVE, reason=None, now=NOW, seen_digest=seen)
        assert raised.value.details is not None
        assert raised.value.details["digest"] == "sha256:" + "01" * 32
    outcome = cast_vote(edited, [], ALICE, decision=APPROVE, reason=None, now=NOW, seen_digest=b"\1" * 32)
    assert outcome.vote.digest == b"\1" * 32
    # To say no nothing need be seen.
    assert cast_vote(edited, [], ALICE, decision=DENY, reason="no", now=NOW).vote.decision is DENY


def test_reassigning_takes_the_place_of_the_assignees_and_of_nothing_else() -> None:
    requirement = replace(FOR_ALICE, separation_of_duties=(Duty.AGENT_OWNER,), roles=(RoleSlot("security"),))
    approval = asked(replace(requirement, required_approvals=2))
    given = reassigned(
        approval,
        [],
        ALICE,
        parse_assignees(["bob@example.com", "group:owners"]),
        reason="away",
        now=NOW,
        parties=NO_PARTIES,
    )
    (one,) = given.requirements
    assert (one.assignees, one.named) == (("alice@example.com",), ("bob@example.com", "group:owners"))
    assert (one.roles, one.separation_of_duties, one.required_approvals) == (
        requirement.roles,
        requirement.separation_of_duties,
        2,
    )
    with pytest.raises(ForbiddenError):
        cast_vote(given, [], ALICE, decision=APPROVE, reason=None, now=NOW)


@pytest.mark.parametrize(
    ("voter", "names", "reason", "policy_id", "error", "says"),
    [
        (BOB, ["usr_sam"], "away", None, ForbiddenError, "only the assignees"),
        (ALICE, ["usr_sam"], "x" * 501, None, ValidationError, "at most 500"),
        (ALICE, ["usr_sam"], "away", "pol_9", NotFoundError, "no requirement of policy pol_9"),
        (replace(ALICE, agent_id="agt_1"), ["usr_sam"], "away", None, ForbiddenError, "An agent key"),
    ],
)
def test_what_reassigning_refuses(
    voter: Voter, names: list[str], reason: str, policy_id: str | None, error: type[HeadgateError], says: str
) -> None:
    with pytest.raises(error, match=says):
        reassigned(
            asked(FOR_ALICE), [], voter, parse_assignees(names), reason=reason, now=NOW, parties=NO_PARTIES,
            policy_id=policy_id,
        )  # fmt: skip


FOR_ANY = Requirement("pol_2", 1, 1)


def test_a_person_reassigns_only_what_is_theirs_to_decide() -> None:
    """An approver whom one policy asks would otherwise take the place of the people whom another names."""
    approval = asked(FOR_ALICE, FOR_ANY)
    to_bob = parse_assignees(["usr_bob"])
    with pytest.raises(ForbiddenError, match="only those who may decide for policy pol_1") as raised:
        reassigned(approval, [], BOB, to_bob, reason=None, now=NOW, parties=NO_PARTIES, policy_id="pol_1")
    assert raised.value.details == {"policy_id": "pol_1", "assignees": ["alice@example.com"]}
    for voter, given in ((BOB, [(), ("usr_bob",)]), (ALICE, [("usr_bob",), ("usr_bob",)])):
        one = reassigned(approval, [], voter, to_bob, reason=None, now=NOW, parties=NO_PARTIES)
        assert [requirement.reassigned or () for requirement in one.requirements] == given
    instead = reassigned(
        approval, [], BOB_FOR_ALICE, to_bob, reason=None, now=NOW, parties=NO_PARTIES, policy_id="pol_1"
    )
    assert instead.requirements[0].named == ("usr_bob",)


def test_an_approval_is_not_given_to_fewer_than_it_needs() -> None:
    two = replace(FOR_ALICE, required_approvals=2)
    with pytest.raises(ValidationError, match="2 assignees are required"):
        reassigned(asked(two), [], ALICE, parse_assignees(["usr_sam"]), reason="away", now=NOW, parties=NO_PARTIES)
    with pytest.raises(ConflictError, match="already expired"):
        reassigned(
            asked(FOR_ALICE), [], ALICE, parse_assignees(["usr_sam"]), reason="late", now=NOW + HOUR, parties=NO_PARTIES
        )


@pytest.mark.parametrize("names", [[], ["nobody"], ["group:No"], ["usr_\0"], ["@" * 400], ["usr_a"] * 101])
def test_names_of_nobody(names: list[str]) -> None:
    with pytest.raises(ValidationError, match="assignees"):
        parse_assignees(names)


@pytest.mark.parametrize(
    ("risk_level", "after_seconds", "at"),
    [
        ("high", None, None),
        ("critical", None, NOW + HOUR / 2),
        ("critical", 60, NOW + timedelta(minutes=1)),
        ("low", 60, NOW + timedelta(minutes=1)),
        ("low", 3600, None),  # its end comes first
    ],
)
def test_when_it_is_escalated(risk_level: str, after_seconds: int | None, at: datetime | None) -> None:
    assert escalation_time(NOW, NOW + HOUR, risk_level, after_seconds) == at


def test_escalation_asks_more_people_and_drops_none() -> None:
    approval = escalated(asked(replace(FOR_ALICE, escalate_to=("group:security",))), NOW)
    assert approval.assignees == ("alice@example.com", "group:security")
    assert cast_vote(approval, [], SAM, decision=APPROVE, reason=None, now=NOW).decided
    assert cast_vote(approval, [], ALICE, decision=APPROVE, reason=None, now=NOW).decided


def test_reminders_are_counted_from_the_last_and_end() -> None:
    approval = replace(asked(FOR_ALICE), remind_after_seconds=60, remind_at=NOW, expires_at=NOW + 100 * HOUR)
    late = NOW + HOUR  # everything was down for an hour: one reminder, not sixty
    approval = reminded(approval, late)
    assert (approval.reminders, approval.remind_at) == (1, late + timedelta(seconds=60))
    for _ in range(MOST_REMINDERS - 1):
        approval = reminded(approval, late)
    assert (approval.reminders, approval.remind_at) == (MOST_REMINDERS, None)
    assert reminder_time(NOW, NOW + HOUR, 3600) is None
    assert reminder_time(NOW, NOW + HOUR, None) is None
