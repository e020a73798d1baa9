"""Expires undecided approvals. One transaction per approval writes the approval, its action and the event.

Expiry does not wait for this job: every reader treats an approval past ``expires_at`` as expired (approvals.model).
"""

from datetime import datetime

from msgspec.structs import replace
from redis.asyncio import Redis

from headgate.actions.model import ActionStatus
from headgate.actions.store import move_action
from headgate.approvals.announce_decision import announce_decision
from headgate.approvals.each_due import each_due
from headgate.approvals.model import Approval, ApprovalStatus, move
from headgate.approvals.store import DueApproval, due_approvals, lock_approval, save_state
from headgate.audit.model import SYSTEM, Actor, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.kernel.clock import Clock, rfc3339


async def expire_due(database: Database, valkey: Redis | None, clock: Clock) -> int:
    """Expires due approvals; returns how many expired. Raises UnavailableError if the database is unreachable."""
    async with database.single_statement() as connection:
        due = await due_approvals(connection)

    async def one(found: DueApproval) -> bool:
        ended = await _expire(database, found, clock)
        await announce_decision(valkey, found.approval_id)
        return ended

    return await each_due(due, one)


async def _expire(database: Database, due: DueApproval, clock: Clock) -> bool:
    async with database.transaction(due.org_id) as connection:
        approval = await lock_approval(connection, due.org_id, due.approval_id)
        if approval.status is not ApprovalStatus.PENDING:
            return False  # decided in the meantime
        # The server's clock found it due; this process's clock may be slightly behind.
        await end_undecided(connection, due.org_id, approval, max(clock(), approval.expires_at), SYSTEM, "expired")
    return True


async def end_undecided(
    connection: Connection, org_id: str, approval: Approval, at: datetime, actor: Actor, reason: str
) -> None:
    """Expires a locked pending approval, with its action and the event."""
    await _end(connection, org_id, approval, ActionStatus.PENDING_APPROVAL, at, actor, reason)


async def withdraw(
    connection: Connection, org_id: str, approval: Approval, at: datetime, actor: Actor, reason: str
) -> None:
    """Ends a locked approval that is pending, or approved and not used: its call does not go through any more."""
    waits = approval.status is ApprovalStatus.PENDING
    status = ActionStatus.PENDING_APPROVAL if waits else ActionStatus.APPROVED
    await _end(connection, org_id, approval, status, at, actor, reason)


async def _end(
    connection: Connection,
    org_id: str,
    approval: Approval,
    action_status: ActionStatus,
    at: datetime,
    actor: Actor,
    reason: str,
) -> None:
    status = move(approval.approval_id, approval.status, ApprovalStatus.EXPIRED)
    await save_state(connection, replace(approval, status=status))
    await move_action(connection, org_id, approval.action_id, action_status, ActionStatus.DENIED, at)
    expired = Event(
        event_type=EventType.APPROVAL_EXPIRED,
        created_at=at,
        actor=actor,
        data={
            "approval_id": approval.approval_id,
            "reason": reason,
            "expires_at": rfc3339(approval.expires_at),
            "current_approvals": approval.current_approvals,
            "required_approvals": approval.required_approvals,
        },
        action_id=approval.action_id,
        agent_id=approval.agent_id,
    )
    await append(connection, org_id, [expired])
