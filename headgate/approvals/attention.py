"""The times at which an undecided approval is escalated (once) and its assignees are reminded.

Pure. An approval that no person answers still ends, at ``expires_at``.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.approvals.model import Approval
from headgate.policies.model import Requirement, RiskLevel

MOST_REMINDERS: Final = 10
"""The most reminders for one approval. A person who ignores ten is unlikely to read the eleventh."""


class Attention(Struct, frozen=True):
    """The assignees of a new approval (``approvals.store.assigned_names``), and its escalation and reminder times."""

    names: tuple[str, ...]
    escalate_at: datetime | None
    remind_after_seconds: int | None
    remind_at: datetime | None


def escalation_time(
    created_at: datetime, expires_at: datetime, risk_level: str, escalate_after_seconds: int | None
) -> datetime | None:
    """Uses the policy's time; without one, half the lifetime if the risk is critical. None: no escalation before the
    end."""
    if escalate_after_seconds is not None:
        at = created_at + timedelta(seconds=escalate_after_seconds)
    elif risk_level == RiskLevel.CRITICAL.value:
        at = created_at + (expires_at - created_at) / 2
    else:
        return None
    return at if at < expires_at else None


def reminder_time(after: datetime, expires_at: datetime, remind_after_seconds: int | None) -> datetime | None:
    """The time of the next reminder. None: no reminder before the end."""
    if remind_after_seconds is None:
        return None
    at = after + timedelta(seconds=remind_after_seconds)
    return at if at < expires_at else None


def escalated(approval: Approval, now: datetime) -> Approval:
    """Adds the people of ``escalate_to`` to every requirement that names assignees."""
    asked = tuple(replace(one, is_escalated=True) for one in approval.requirements)
    return replace(approval, escalated_at=now, requirements=asked)


def reminded(approval: Approval, now: datetime) -> Approval:
    """Counts from now, so that an outage does not cause a burst of missed reminders."""
    reminders = approval.reminders + 1
    next_at = reminder_time(now, approval.expires_at, approval.remind_after_seconds)
    return replace(approval, reminders=reminders, remind_at=next_at if reminders < MOST_REMINDERS else None)


def newly_asked(before: Sequence[Requirement], after: Sequence[Requirement]) -> list[str]:
    """The names that are assigned now and were not before."""
    known = {name for one in before for name in one.named}
    return sorted({name for one in after for name in one.named} - known)
