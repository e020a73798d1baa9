"""An approval, its states, and the answer to a retry of its call.

The states are the specification's ("Approval status"); the answers to a retry are semantics.md's ("Retry, use,
expiry"). The caller passes in the time: an approval past ``expires_at`` is not pending, whatever its row says.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.approvals.standing import Standing
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError
from headgate.policies.model import Requirement

REASON_MAX_CHARACTERS: Final = 500
USE_GRACE: Final = timedelta(minutes=15)
"""How long after a late approval the call can still use it. In SQL: ``approval_use_ends``."""


class ApprovalStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"


TRANSITIONS: Final[Mapping[ApprovalStatus, frozenset[ApprovalStatus]]] = MappingProxyType(
    {
        ApprovalStatus.PENDING: frozenset({ApprovalStatus.APPROVED, ApprovalStatus.DENIED, ApprovalStatus.EXPIRED}),
        # After a restore: an approval that nobody has used may have been used since the backup.
        ApprovalStatus.APPROVED: frozenset({ApprovalStatus.EXPIRED}),
        ApprovalStatus.DENIED: frozenset(),
        ApprovalStatus.EXPIRED: frozenset(),
    }
)


class VoteDecision(StrEnum):
    APPROVE = "approve"
    DENY = "deny"


class Edit(Struct, frozen=True):
    """A reviewer's edit of an explicit action before its approval: the digest, and the params with secrets masked. The
    action itself keeps the submitted params."""

    digest: bytes
    params: JsonObject
    by: str
    at: datetime


class Approval(Struct, frozen=True):
    """An approval as its row states it; ``state_at`` gives its current state.

    ``decided_by`` is the voter whose vote decided. ``repeats`` names an earlier approval of the same call that was
    used, has expired, or no longer satisfies the policies. ``used_by`` is the execution. ``held_until``: how long the
    newest intercepted call of this digest waits for the decision.
    """

    org_id: str
    approval_id: str
    action_id: str
    agent_id: str
    source: str
    digest: bytes
    status: ApprovalStatus
    requirements: tuple[Requirement, ...]
    required_approvals: int
    current_approvals: int
    reason: str
    risk_level: str
    policy_id: str | None
    repeats: str | None
    created_at: datetime
    expires_at: datetime
    held_until: datetime | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None
    comment: str | None = None
    used_at: datetime | None = None
    used_by: str | None = None
    escalate_at: datetime | None = None
    escalated_at: datetime | None = None
    remind_after_seconds: int | None = None
    remind_at: datetime | None = None
    reminders: int = 0
    edit: Edit | None = None

    @property
    def assignees(self) -> tuple[str, ...]:
        """The current assignees of all requirements, without duplicates."""
        return tuple(dict.fromkeys(name for one in self.requirements for name in one.named))

    @property
    def approved_digest(self) -> bytes:
        """The digest that a new vote covers: of the submitted action, or of a reviewer's edit."""
        return self.digest if self.edit is None else self.edit.digest


class Vote(Struct, frozen=True):
    """One approver's vote. ``voter_id`` is the user, or a key without a creating user.

    ``email``, ``as_admin`` and ``standing`` are those at the time of the vote and stay so. ``on_behalf_of`` is the
    absent user whose assignment it used; ``digest`` is of the action voted on.
    """

    approval_id: str
    voter_id: str
    decision: VoteDecision
    reason: str | None
    decided_at: datetime
    key_id: str | None = None
    email: str | None = None
    name: str | None = None
    as_admin: bool = False
    standing: tuple[Standing, ...] = ()
    on_behalf_of: str | None = None
    digest: bytes | None = None


def move(approval_id: str, current: ApprovalStatus, target: ApprovalStatus) -> ApprovalStatus:
    """Returns ``target`` if the transition table allows it. Raises ConflictError."""
    if target not in TRANSITIONS[current]:
        raise ConflictError(
            f"approval {approval_id} is {current} and cannot become {target}", details={"status": current.value}
        )
    return target


def state_at(approval: Approval, now: datetime) -> ApprovalStatus:
    """The current state: expired by time even if the row still says pending."""
    if approval.status is ApprovalStatus.PENDING and now >= approval.expires_at:
        return ApprovalStatus.EXPIRED
    return approval.status


def usable_until(approval: Approval) -> datetime | None:
    """The time until which an approved, unused approval lets its call through; None if it does not."""
    if approval.status is not ApprovalStatus.APPROVED or approval.used_at is not None or approval.decided_at is None:
        return None
    return max(approval.expires_at, approval.decided_at + USE_GRACE)


class RetryAnswer(StrEnum):
    """The answer to the same call, sent again by the same agent."""

    HOLD = "hold"
    """Still pending: it attaches to the approval."""
    USE = "use"
    """Approved and unused: the call goes through, once."""
    DENIED = "denied"
    """Denied; the denial applies until ``expires_at``."""
    ANEW = "anew"
    """Used, expired or absent: a new action and approval, which names the old approval."""


def answer_for_retry(newest: Approval | None, now: datetime) -> RetryAnswer:
    """The answer of the newest approval with the call's digest. The current policies must also accept it."""
    if newest is None:
        return RetryAnswer.ANEW
    match state_at(newest, now):
        case ApprovalStatus.PENDING:
            return RetryAnswer.HOLD
        case ApprovalStatus.APPROVED:
            until = usable_until(newest)
            return RetryAnswer.USE if until is not None and now < until else RetryAnswer.ANEW
        case ApprovalStatus.DENIED:
            return RetryAnswer.DENIED if now < newest.expires_at else RetryAnswer.ANEW
        case ApprovalStatus.EXPIRED:
            return RetryAnswer.ANEW
