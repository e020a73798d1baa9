"""Who may vote on an approval, and what a vote makes of it (semantics.md, "Combining and voting").

One vote per approver; a denial ends it; it is approved once every requirement has its approvals, from the
people that it names. Pure: the caller holds the row's lock and passes in the votes cast so far.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from headgate.approvals.model import (
    REASON_MAX_CHARACTERS,
    Approval,
    ApprovalStatus,
    Vote,
    VoteDecision,
    move,
    state_at,
)
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, ForbiddenError, ValidationError
from headgate.policies.model import Requirement


@dataclass(frozen=True, slots=True)
class Voter:
    """Who votes. ``user_id`` is None for a key that no user created; ``agent_id`` is set for an agent's key.

    ``is_admin``: the credential carries admin:*. ``email`` is what the identity provider vouches for.
    """

    user_id: str | None
    email: str | None = None
    name: str | None = None
    key_id: str | None = None
    agent_id: str | None = None
    is_admin: bool = False

    @property
    def voter_id(self) -> str:
        """Whose one vote this is: a user's, through whatever credential; else the key's own."""
        voter_id = self.user_id or self.key_id
        if voter_id is None:
            raise ForbiddenError("a vote needs a user or a key")
        return voter_id


@dataclass(frozen=True, slots=True)
class Outcome:
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
) -> Outcome:
    """What this vote makes of the approval.

    Raises ValidationError (reason), ForbiddenError (not this voter's to decide) and ConflictError (decided
    or expired already, or this approver has voted).
    """
    reason = _checked_reason(decision, reason)
    _check_right(approval, voter)
    _check_open(approval, now)
    _check_first_vote(approval, votes, voter)
    vote = Vote(
        approval_id=approval.approval_id,
        voter_id=voter.voter_id,
        decision=decision,
        reason=reason,
        decided_at=now,
        key_id=voter.key_id,
        email=voter.email,
        as_admin=voter.is_admin,
    )
    return Outcome(_counted(approval, [*votes, vote], vote), vote)


def _counted(approval: Approval, votes: Sequence[Vote], last: Vote) -> Approval:
    approvals = [vote for vote in votes if vote.decision is VoteDecision.APPROVE]
    counted = replace(approval, current_approvals=len(approvals))
    if last.decision is VoteDecision.DENY:
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
    """Whether every requirement has its approvals. One without any requirement is never met: fail closed."""
    return (
        bool(approval.requirements)
        and len(approvals) >= approval.required_approvals
        and all(
            sum(_counts_for(vote.voter_id, vote.email, vote.as_admin, one) for vote in approvals)
            >= one.required_approvals
            for one in approval.requirements
        )
    )


def _counts_for(voter_id: str, email: str | None, is_admin: bool, requirement: Requirement) -> bool:
    if not requirement.assignees or is_admin:
        return True
    named = {assignee.casefold() for assignee in requirement.assignees}
    return voter_id.casefold() in named or (email is not None and email.casefold() in named)


def _check_right(approval: Approval, voter: Voter) -> None:
    if voter.agent_id is not None:
        raise ForbiddenError("an agent's key never decides an approval")
    needed = max([approval.required_approvals, *(one.required_approvals for one in approval.requirements)])
    if voter.user_id is None and needed > 1:
        # Nobody could tell two such keys of one person apart.
        raise ForbiddenError(f"{needed} approvals are needed, and a key that no user created has no vote among them")
    if approval.requirements and not any(
        _counts_for(voter.voter_id, voter.email, voter.is_admin, one) for one in approval.requirements
    ):
        raise ForbiddenError(
            "only the assignees of this approval, or admin:*, may decide it",
            details={"assignees": list(approval.assignees)},
        )


def _check_open(approval: Approval, now: datetime) -> None:
    state = state_at(approval, now)
    if state is ApprovalStatus.PENDING:
        return
    details: dict[str, object] = {"approval_id": approval.approval_id, "status": state.value}
    if approval.decided_at is not None:
        details |= {"decided_by": approval.decided_by, "decided_at": rfc3339(approval.decided_at)}
        by = f" by {approval.decided_by} at {rfc3339(approval.decided_at)}"
    else:
        details["expires_at"] = rfc3339(approval.expires_at)
        by = ""
    raise ConflictError(f"approval {approval.approval_id} is already {state}{by}", details=details)


def _check_first_vote(approval: Approval, votes: Sequence[Vote], voter: Voter) -> None:
    for vote in votes:
        if vote.voter_id == voter.voter_id:
            raise ConflictError(
                f"{vote.voter_id} has voted on approval {approval.approval_id} already: {vote.decision}",
                details={
                    "approval_id": approval.approval_id,
                    "status": approval.status.value,
                    "voted": vote.decision.value,
                    "voted_at": rfc3339(vote.decided_at),
                },
            )


def _checked_reason(decision: VoteDecision, reason: str | None) -> str | None:
    reason = reason.strip() if reason is not None else None
    if decision is VoteDecision.DENY and not reason:
        raise ValidationError(
            "a denial needs a reason: the agent is told it", details={"field": "reason", "reason": "required to deny"}
        )
    if reason is not None and len(reason) > REASON_MAX_CHARACTERS:
        raise ValidationError(
            f"at most {REASON_MAX_CHARACTERS} characters",
            details={"field": "reason", "max_length": REASON_MAX_CHARACTERS, "length": len(reason)},
        )
    if reason is not None and "\0" in reason:
        raise ValidationError("NUL is not text", details={"field": "reason", "reason": "holds a NUL character"})
    return reason or None
