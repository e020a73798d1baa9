"""Checks before every vote: the approval is open, the voter has not voted, and the action is the one that they
reviewed.

Each error states the state and who caused it, when. Pure.
"""

from collections.abc import Sequence
from datetime import datetime

from headgate.approvals.model import REASON_MAX_CHARACTERS, Approval, ApprovalStatus, Vote, state_at
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, ValidationError


def check_open(approval: Approval, now: datetime) -> None:
    """Raises ConflictError with the current state, who caused it, and when."""
    state = state_at(approval, now)
    if state is ApprovalStatus.PENDING:
        return
    details: dict[str, object] = {"approval_id": approval.approval_id, "status": state.value}
    if approval.decided_at is not None:
        details |= {"decided_by": approval.decided_by, "decided_at": rfc3339(approval.decided_at)}
        by = f" by {approval.decided_by} at {rfc3339(approval.decided_at)}"
    elif now < approval.expires_at:
        by = " before its time: its agent took it back, or another approval of the same call took its place"
    else:
        details["expires_at"] = rfc3339(approval.expires_at)
        by = f" since {rfc3339(approval.expires_at)}"
    raise ConflictError(f"approval {approval.approval_id} is already {state}{by}", details=details)


def check_first_vote(
    approval: Approval, votes: Sequence[Vote], voter_id: str, also: frozenset[str] = frozenset()
) -> None:
    """Raises ConflictError if this person has voted, as any of their users or through a delegate."""
    people = also | {voter_id}
    for vote in votes:
        if people.isdisjoint({vote.voter_id, vote.on_behalf_of}):
            continue
        details: dict[str, object] = {
            "approval_id": approval.approval_id,
            "status": approval.status.value,
            "voted": vote.decision.value,
            "voted_at": rfc3339(vote.decided_at),
        }
        if vote.voter_id in people:
            raise ConflictError(
                f"you have already voted on approval {approval.approval_id}: {vote.decision}",
                details=details,
            )
        who = vote.email or vote.voter_id
        raise ConflictError(
            f"{who} has already voted for you on approval {approval.approval_id}: {vote.decision}",
            details={**details, "voted_by": vote.voter_id},
        )


def check_seen(approval: Approval, seen_digest: bytes | None) -> None:
    """A vote on an edited action needs the edited action's digest, so that no person approves an edit unseen."""
    if seen_digest == approval.approved_digest or (seen_digest is None and approval.edit is None):
        return
    digest = "sha256:" + approval.approved_digest.hex()
    details: dict[str, object] = {
        "approval_id": approval.approval_id,
        "status": approval.status.value,
        "digest": digest,
    }
    by = ""
    if approval.edit is not None:
        details |= {"edited_by": approval.edit.by, "edited_at": rfc3339(approval.edit.at)}
        by = f": {approval.edit.by} edited it at {rfc3339(approval.edit.at)}"
    raise ConflictError(f"The action has changed. Review it again and send its digest {digest}{by}", details=details)


def checked_reason(reason: str | None, *, is_required: bool) -> str | None:
    """Strips surrounding space; None if empty. Raises ValidationError."""
    reason = reason.strip() if reason is not None else None
    if is_required and not reason:
        raise ValidationError(
            "A reason is required to deny. The agent sees it.",
            details={"field": "reason", "reason": "required to deny"},
        )
    if reason is not None and len(reason) > REASON_MAX_CHARACTERS:
        raise ValidationError(
            f"at most {REASON_MAX_CHARACTERS} characters",
            details={"field": "reason", "max_length": REASON_MAX_CHARACTERS, "length": len(reason)},
        )
    if reason is not None and "\0" in reason:
        raise ValidationError(
            "a NUL character cannot be stored", details={"field": "reason", "reason": "holds a NUL character"}
        )
    return reason or None
