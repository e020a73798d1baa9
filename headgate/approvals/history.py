"""Everything that happened to an approval, in order (the specification leaves the entries of ``history`` open)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from headgate.approvals.model import Approval, ApprovalStatus, Vote, VoteDecision, state_at
from headgate.kernel.canonical_json import JsonObject


class HistoryVerb(StrEnum):
    REQUESTED = "requested"
    APPROVED = "approved"
    DENIED = "denied"
    REASSIGNED = "reassigned"
    ESCALATED = "escalated"
    REMINDED = "reminded"
    EDITED = "edited"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    USED = "used"


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened to an approval beside votes and its use. ``by`` None: the clock."""

    verb: HistoryVerb
    at: datetime
    by: str | None
    email: str | None = None
    reason: str | None = None
    data: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """It ended before its time: ``by_approval`` asked for more and took its place; None: its agent took it back."""

    at: datetime
    by_approval: str | None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """``by`` is a voter, the agent that asked, or the execution that used it; None: the clock. ``on_behalf_of``:
    who was away, and whose assignment the vote used."""

    verb: HistoryVerb
    at: datetime
    by: str | None
    email: str | None = None
    reason: str | None = None
    on_behalf_of: str | None = None
    data: JsonObject = field(default_factory=dict)


def history(
    approval: Approval,
    votes: Sequence[Vote],
    now: datetime,
    steps: Sequence[Step] = (),
    early_end: EarlyEnd | None = None,
) -> list[HistoryEntry]:
    """Oldest first; at one moment, in the order in which it must have happened."""
    entries = [HistoryEntry(HistoryVerb.REQUESTED, approval.created_at, approval.agent_id, reason=approval.reason)]
    entries += [HistoryEntry(one.verb, one.at, one.by, one.email, one.reason, data=one.data) for one in steps]
    for vote in votes:
        verb = HistoryVerb.APPROVED if vote.decision is VoteDecision.APPROVE else HistoryVerb.DENIED
        entries.append(
            HistoryEntry(verb, vote.decided_at, vote.voter_id, vote.email, vote.reason, on_behalf_of=vote.on_behalf_of)
        )
    if state_at(approval, now) is ApprovalStatus.EXPIRED:
        entries.append(_ended(approval, now, early_end))
    if approval.used_at is not None:
        entries.append(HistoryEntry(HistoryVerb.USED, approval.used_at, approval.used_by))
    return sorted(entries, key=lambda entry: entry.at)


def _ended(approval: Approval, now: datetime, early_end: EarlyEnd | None) -> HistoryEntry:
    if early_end is None:
        return HistoryEntry(HistoryVerb.EXPIRED, min(approval.expires_at, now), None)
    if early_end.by_approval is None:
        return HistoryEntry(HistoryVerb.CANCELLED, early_end.at, approval.agent_id)
    data: JsonObject = {"by_approval": early_end.by_approval}
    return HistoryEntry(HistoryVerb.SUPERSEDED, early_end.at, None, data=data)
