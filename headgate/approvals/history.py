"""The history of an approval in order (the specification leaves the entries of ``history`` open)."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

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


class Step(Struct, frozen=True):
    """A step of an approval other than a vote or its use. ``by`` None: the clock."""

    verb: HistoryVerb
    at: datetime
    by: str | None
    email: str | None = None
    reason: str | None = None
    data: JsonObject = field(default_factory=dict)


class EarlyEnd(Struct, frozen=True):
    """The approval ended early. ``by_approval`` superseded it with stricter requirements; None: its agent withdrew
    it."""

    at: datetime
    by_approval: str | None


class HistoryEntry(Struct, frozen=True):
    """``by`` is a voter, the requesting agent, or the execution that used the approval; None: the clock.
    ``on_behalf_of``: the absent user whose assignment the vote used."""

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
    """Sorts entries oldest first; entries of the same moment are in causal order."""
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
