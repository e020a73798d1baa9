"""Escalates undecided approvals once, and reminds the people who are assigned.

Only the database server's clock counts, so several workers do each step once even if their own clocks differ. The first
worker to lock the row does the step; the others find it done.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

from headgate.approvals.attention import escalated, newly_asked, reminded
from headgate.approvals.each_due import each_due
from headgate.approvals.history import HistoryVerb, Step
from headgate.approvals.model import Approval, ApprovalStatus, state_at
from headgate.approvals.step_store import add_step
from headgate.approvals.store import (
    DueApproval,
    due_escalations,
    due_reminders,
    lock_approval,
    save_attention,
    save_requirements,
)
from headgate.audit.model import SYSTEM, Actor, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.db.server_clock import server_now
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339


async def escalate_due(database: Database) -> int:
    """Escalates approvals that were not decided in time; returns their number. Raises UnavailableError."""
    async with database.single_statement() as connection:
        due = await due_escalations(connection)
    return await _each(database, due, _escalate)


async def remind_due(database: Database) -> int:
    """Reminds assignees of pending approvals; returns the number of approvals. Raises UnavailableError."""
    async with database.single_statement() as connection:
        due = await due_reminders(connection)
    return await _each(database, due, _remind)


async def _each(
    database: Database, due: list[DueApproval], attend: Callable[[Connection, Approval, datetime], Awaitable[bool]]
) -> int:
    async def one(found: DueApproval) -> bool:
        async with database.transaction(found.org_id) as connection:
            approval = await lock_approval(connection, found.org_id, found.approval_id)
            now = await server_now(connection)
            return state_at(approval, now) is ApprovalStatus.PENDING and await attend(connection, approval, now)

    return await each_due(due, one)


async def _escalate(connection: Connection, before: Approval, now: datetime) -> bool:
    if before.escalated_at is not None or before.escalate_at is None or now < before.escalate_at:
        return False
    await record_escalation(connection, before, escalated(before, now), now, SYSTEM)
    return True


async def record_escalation(
    connection: Connection,
    before: Approval,
    approval: Approval,
    now: datetime,
    actor: Actor,
    email: str | None = None,
    reason: str | None = None,
) -> None:
    """Writes an escalation with its step and its event; the caller holds the row's lock."""
    await save_requirements(connection, approval)
    await save_attention(connection, approval)
    data: JsonObject = {
        "assignees": [*approval.assignees],
        "added": [*newly_asked(before.requirements, approval.requirements)],
        "risk_level": approval.risk_level,
    }
    by = None if actor == SYSTEM else actor.id
    step = Step(HistoryVerb.ESCALATED, now, by, email, reason, data)
    await _tell(connection, approval, step, EventType.APPROVAL_ESCALATED, actor)


async def _remind(connection: Connection, before: Approval, now: datetime) -> bool:
    if before.remind_at is None or now < before.remind_at:
        return False
    approval = reminded(before, now)
    await save_attention(connection, approval)
    data: JsonObject = {"assignees": [*approval.assignees], "reminder": approval.reminders}
    step = Step(HistoryVerb.REMINDED, now, None, data=data)
    await _tell(connection, approval, step, EventType.APPROVAL_REMINDED, SYSTEM)
    return True


async def _tell(connection: Connection, approval: Approval, step: Step, event_type: EventType, actor: Actor) -> None:
    await add_step(connection, approval.org_id, approval.approval_id, step)
    asked: JsonObject = {"requirements": [one.record() for one in approval.requirements]}
    told = Event(
        event_type=event_type,
        created_at=step.at,
        actor=actor,
        data={
            "approval_id": approval.approval_id,
            "current_approvals": approval.current_approvals,
            "required_approvals": approval.required_approvals,
            "expires_at": rfc3339(approval.expires_at),
            **step.data,
            **({} if step.reason is None else {"reason": step.reason}),
            **(asked if step.verb is HistoryVerb.ESCALATED else {}),
        },
        action_id=approval.action_id,
        agent_id=approval.agent_id,
    )
    await append(connection, approval.org_id, [told])
