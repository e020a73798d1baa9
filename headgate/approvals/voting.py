"""Who may vote on an approval, and the effect of a vote (semantics.md, "Combining and voting").

Each approver has one vote. The number of denials that a policy sets ends the approval (default: one). It is approved
once every requirement has its quorum from the people that it names. A vote's standing is fixed when it is cast. Pure:
the caller holds the row's lock and passes in the earlier votes.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from headgate.approvals.model import Approval, ApprovalStatus, Vote, VoteDecision, move
from headgate.approvals.standing import (
    NO_PARTIES,
    Named,
    Parties,
    Standing,
    can_fill,
    can_refuse,
    is_met,
    is_refused,
    standing_in,
)
from headgate.approvals.vote_checks import check_first_vote, check_open, check_seen, checked_reason
from headgate.kernel.errors import ForbiddenError
from headgate.policies.model import Requirement
from headgate.policies.terms import GROUP_PREFIX, Duty


class Voter(Struct, frozen=True):
    """The voter. ``user_id`` is None for a key without a creating user; ``agent_id`` is set for an agent's key.

    ``is_admin``: the credential carries admin:*. ``email`` is the address that the identity provider verified.
    ``groups`` are the current approver groups; ``stands_in_for`` the absent people who have named this delegate.
    ``also``: the person's other users (``persons_of``). ``address``: the client's address, for the audit log.
    """

    user_id: str | None
    email: str | None = None
    name: str | None = None
    key_id: str | None = None
    agent_id: str | None = None
    is_admin: bool = False
    groups: frozenset[str] = frozenset()
    stands_in_for: tuple[Named, ...] = ()
    address: str | None = None
    also: frozenset[str] = frozenset()

    @property
    def voter_id(self) -> str:
        """The id that owns the vote: the user's, through whatever credential; else the key's own."""
        voter_id = self.user_id or self.key_id
        if voter_id is None:
            raise ForbiddenError("a vote needs a user or a key")
        return voter_id

    @property
    def named(self) -> Named:
        return Named(self.voter_id, self.email, self.groups, self.also)


class Outcome(Struct, frozen=True):
    """The approval after the vote (its status may still be pending), and the vote."""

    approval: Approval
    vote: Vote

    @property
    def decided(self) -> bool:
        return self.approval.status is not ApprovalStatus.PENDING


def cast_vote(
    approval: Approval,
    votes: Sequence[Vote],
    voter: Voter,
    *,
    decision: VoteDecision,
    reason: str | None,
    now: datetime,
    parties: Parties = NO_PARTIES,
    seen_digest: bytes | None = None,
    denial_needs_reason: bool = True,
) -> Outcome:
    """Applies the vote. ``seen_digest``: the digest of the action that the voter reviewed, if stated.

    Raises ValidationError (reason), ForbiddenError (not this voter's to decide) and ConflictError (already decided or
    expired, this approver has voted, or the action has changed since the voter reviewed it).
    """
    reason = checked_reason(reason, is_required=decision is VoteDecision.DENY and denial_needs_reason)
    cast = check_right(approval, votes, voter, parties, decision)
    check_open(approval, now)
    check_first_vote(approval, votes, voter.voter_id, voter.also)
    if decision is VoteDecision.APPROVE:
        check_seen(approval, seen_digest)
    vote = Vote(
        approval_id=approval.approval_id,
        voter_id=voter.voter_id,
        decision=decision,
        reason=reason,
        decided_at=now,
        key_id=voter.key_id,
        email=voter.email,
        as_admin=voter.is_admin,
        standing=cast.standing,
        on_behalf_of=cast.on_behalf_of,
        digest=approval.approved_digest,
    )
    return Outcome(_counted(approval, [*votes, vote], vote), vote)


def _counted(approval: Approval, votes: Sequence[Vote], last: Vote) -> Approval:
    approvals = [vote for vote in votes if vote.decision is VoteDecision.APPROVE]
    denials = [vote for vote in votes if vote.decision is VoteDecision.DENY]
    counted = replace(approval, current_approvals=len(approvals))
    if refused(approval, denials):
        target = ApprovalStatus.DENIED
    elif all_met(approval, approvals):
        target = ApprovalStatus.APPROVED
    else:
        return counted
    return replace(
        counted,
        status=move(approval.approval_id, approval.status, target),
        decided_at=last.decided_at,
        decided_by=last.voter_id,
        comment=last.reason,
    )


def all_met(approval: Approval, approvals: Sequence[Vote]) -> bool:
    """Whether every requirement has its approvals. An approval without requirements is never met: fail closed."""
    standings = [standing for vote in approvals for standing in vote.standing]
    return (
        bool(approval.requirements)
        and len(approvals) >= approval.required_approvals
        and all(is_met(one, standings) for one in approval.requirements)
    )


def refused(approval: Approval, denials: Sequence[Vote]) -> bool:
    """Whether any requirement has the denials that its policy sets. Without requirements, one denial suffices."""
    if not approval.requirements:
        return bool(denials)
    standings = [standing for vote in denials for standing in vote.standing]
    return any(is_refused(one, standings) for one in approval.requirements)


class _Cast(Struct, frozen=True):
    standing: tuple[Standing, ...]
    on_behalf_of: str | None


def check_right(
    approval: Approval, votes: Sequence[Vote], voter: Voter, parties: Parties, decision: VoteDecision
) -> _Cast:
    """The standing of this voter's vote. Raises ForbiddenError if it is none or cannot be established."""
    if voter.agent_id is not None:
        raise ForbiddenError("An agent key cannot decide approvals.")
    needed = max([approval.required_approvals, *(one.required_approvals for one in approval.requirements)])
    against = max([1, *(one.denials_required for one in approval.requirements)])
    if voter.user_id is None and max(needed, against) > 1:
        # Two such keys of one person cannot be told apart.
        raise ForbiddenError(f"{needed} approvals are needed, and a key without a user has no vote")
    for one in approval.requirements:
        _check_kept_apart(approval, one, voter, parties)
    cast = _cast(approval, votes, voter, parties, decision)
    if approval.requirements and not _counts(approval, cast.standing, decision):
        raise ForbiddenError(_nothing_to_say(approval), details={"assignees": list(approval.assignees)})
    return cast


def _check_kept_apart(approval: Approval, requirement: Requirement, voter: Voter, parties: Parties) -> None:
    if not requirement.separation_of_duties:
        return
    duties = [duty.value for duty in requirement.separation_of_duties]
    if voter.user_id is None:
        # The key's owner is unknown, so separation of duties cannot be checked.
        raise ForbiddenError(
            "separation of duties applies, and a key without a user cannot be checked",
            details={"separation_of_duties": list(duties), "policy_id": requirement.policy_id},
        )
    if (duty := parties.duty_of(voter.named, requirement)) is not None:
        who = {
            Duty.AGENT_OWNER: f"the owner of agent {approval.agent_id}",
            Duty.POLICY_AUTHOR: f"the author of policy {requirement.policy_id}, which asks",
        }[duty]
        raise ForbiddenError(
            f"another person must decide this: you are {who}",
            details={"separation_of_duties": duty.value, "policy_id": requirement.policy_id},
        )


def _cast(approval: Approval, votes: Sequence[Vote], voter: Voter, parties: Parties, decision: VoteDecision) -> _Cast:
    """The voter's own standing, or else the standing of at most one absent person."""
    own = tuple(standing_in(one, voter.named, is_admin=voter.is_admin) for one in approval.requirements)
    others = [vote for vote in votes if vote.voter_id != voter.voter_id]
    spoken_for = {vote.voter_id for vote in others} | {vote.on_behalf_of for vote in others}
    kept_out = {user_id for one in approval.requirements for user_id in parties.kept_out(one)}
    for absent in sorted(voter.stands_in_for, key=lambda one: one.user_id):
        # Any of the absent person's users: one whose other user has voted, or is kept apart, has no delegate either.
        if not absent.users.isdisjoint(spoken_for | kept_out):
            continue
        theirs = [standing_in(one, absent) for one in approval.requirements]
        both = tuple(
            away if not _fits(mine, one, decision) and _fits(away, one, decision) else mine
            for mine, away, one in zip(own, theirs, approval.requirements, strict=True)
        )
        if both != own:
            return _Cast(both, absent.user_id)
    return _Cast(own, None)


def _fits(standing: Standing, requirement: Requirement, decision: VoteDecision) -> bool:
    return can_fill(standing, requirement) if decision is VoteDecision.APPROVE else can_refuse(standing)


def _counts(approval: Approval, standings: Sequence[Standing], decision: VoteDecision) -> bool:
    return any(_fits(standing, one, decision) for standing, one in zip(standings, approval.requirements, strict=True))


def _nothing_to_say(approval: Approval) -> str:
    roles = sorted({slot.group for one in approval.requirements for slot in one.roles})
    if not roles:
        return "only the assignees of this approval, or admin:*, may decide it"
    who = "its assignees and " if approval.assignees else ""
    return f"only {who}members of {', '.join(GROUP_PREFIX + role for role in roles)} may decide this approval"
