"""When the clock looks after an approval that nobody decides: it is escalated once, and its people are reminded.

Pure. What nobody answers still has a defined end: ``expires_at``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from headgate.approvals.model import Approval
from headgate.policies.model import Requirement, RiskLevel

MOST_REMINDERS: Final = 10
"""Of one approval: who has not looked after ten will not look after the eleventh."""


@dataclass(frozen=True, slots=True)
class Attention:
    """Whom a new approval is assigned to (``approvals.store.assigned_names``), and when the clock looks after it."""

    names: tuple[str, ...]
    escalate_at: datetime | None
    remind_after_seconds: int | None
    remind_at: datetime | None


def escalation_time(
    created_at: datetime, expires_at: datetime, risk_level: str, escalate_after_seconds: int | None
) -> datetime | None:
    """What the policy says; else half the lifetime where the risk is critical. None: never, or not before its end."""
    if escalate_after_seconds is not None:
        at = created_at + timedelta(seconds=escalate_after_seconds)
    elif risk_level == RiskLevel.CRITICAL.value:
        at = created_at + (expires_at - created_at) / 2
    else:
        return None
    return at if at < expires_at else None


def reminder_time(after: datetime, expires_at: datetime, remind_after_seconds: int | None) -> datetime | None:
    """When people are next reminded; None: not before its end."""
    if remind_after_seconds is None:
        return None
    at = after + timedelta(seconds=remind_after_seconds)
    return at if at < expires_at else None


def escalated(approval: Approval, now: datetime) -> Approval:
    """From now on those of ``escalate_to`` are asked as well, wherever a requirement names anybody."""
    asked = tuple(replace(one, is_escalated=True) for one in approval.requirements)
    return replace(approval, escalated_at=now, requirements=asked)


def reminded(approval: Approval, now: datetime) -> Approval:
    """Counted from now, so that what was missed while everything was down is not made up for in a burst."""
    reminders = approval.reminders + 1
    next_at = reminder_time(now, approval.expires_at, approval.remind_after_seconds)
    return replace(approval, reminders=reminders, remind_at=next_at if reminders < MOST_REMINDERS else None)


def newly_asked(before: Sequence[Requirement], after: Sequence[Requirement]) -> list[str]:
    """The names that are asked now and were not before."""
    known = {name for one in before for name in one.named}
    return sorted({name for one in after for name in one.named} - known)
