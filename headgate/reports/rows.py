"""The rows of a report: events in their context, each with its number and hash in the chain."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from headgate.kernel.clock import rfc3339
from headgate.reports.model import Section
from headgate.reports.run import RunEvent


class Row(Struct, frozen=True):
    """What is empty does not apply to this kind of row, or is not known from the run. ``subject``: the policy, key,
    user, setting… that the event is about; ``operation``: ``tool.operation`` of its action."""

    section: Section
    seq: int
    event_id: str
    created_at: datetime
    event_type: str
    action_id: str
    agent_id: str
    agent: str
    actor_type: str
    actor: str
    subject: str
    operation: str
    decision: str
    risk_level: str
    policy_id: str
    outcome: str
    waited_seconds: int | None
    reason: str
    detail: str
    hash: str
    data: Mapping[str, Any] | None = None
    """All that the event says, where every event was asked for: for programs that count again."""

    def cells(self) -> tuple[str | int | None, ...]:
        """In the order of ``COLUMNS``."""
        return (
            self.section.value, self.seq, self.event_id, rfc3339(self.created_at), self.event_type, self.action_id,
            self.agent_id, self.agent, self.actor_type, self.actor, self.subject, self.operation, self.decision,
            self.risk_level, self.policy_id, self.outcome, self.waited_seconds, self.reason, self.detail,
            f"sha256:{self.hash}",
        )  # fmt: skip


COLUMNS: Final = (
    "section", "seq", "event_id", "created_at", "event_type", "action_id", "agent_id", "agent", "actor_type", "actor",
    "subject", "operation", "decision", "risk_level", "policy_id", "outcome", "waited_seconds", "reason", "detail",
    "hash",
)  # fmt: skip


def row_of(
    section: Section,
    event: RunEvent,
    *,
    agent: str = "",
    subject: str = "",
    operation: str = "",
    decision: str = "",
    risk_level: str = "",
    outcome: str = "",
    waited_seconds: int | None = None,
    reason: str = "",
    detail: str = "",
    data: Mapping[str, Any] | None = None,
) -> Row:
    return Row(
        section=section,
        seq=event.seq,
        event_id=event.event_id,
        created_at=event.created_at,
        event_type=event.event_type,
        action_id=event.action_id or "",
        agent_id=event.agent_id or "",
        agent=agent or event.agent_id or "",
        actor_type=event.actor_type or ("(erased)" if event.is_erased else ""),
        actor=event.who,
        subject=subject,
        operation=operation,
        decision=decision,
        risk_level=risk_level,
        policy_id=event.text("policy_id"),
        outcome=outcome,
        waited_seconds=waited_seconds,
        reason=reason,
        detail=detail,
        hash=event.hash,
        data=data,
    )
