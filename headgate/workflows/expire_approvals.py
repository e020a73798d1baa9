"""The clock ends approvals that nobody decided: the approval, its action and the event, each in one transaction.

Expiry does not wait for this: whoever reads an approval past ``expires_at`` finds it expired (approvals.model).
"""

from dataclasses import replace

import structlog
from redis.asyncio import Redis

from headgate.actions.model import ActionStatus
from headgate.actions.store import move_action
from headgate.approvals.model import ApprovalStatus, move
from headgate.approvals.store import DueApproval, due_approvals, lock_approval, save_state
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Database
from headgate.kernel.clock import Clock, rfc3339
from headgate.kernel.errors import HeadgateError, UnavailableError
from headgate.workflows.announce_decision import announce_decision

_log = structlog.get_logger(__name__)


async def expire_due(database: Database, valkey: Redis | None, clock: Clock) -> int:
    """End what is due; returns how many ended. One that cannot be ended does not keep the others waiting.

    Raises UnavailableError where the database is out of reach.
    """
    async with database.across_organizations() as connection:
        due = await due_approvals(connection)
    expired = 0
    for one in due:
        try:
            expired += await _expire(database, one, clock)
        except UnavailableError:
            raise
        except HeadgateError as error:
            _log.error("approval_not_expired", org_id=one.org_id, approval_id=one.approval_id, error=error.message)
            continue
        await announce_decision(valkey, one.approval_id)
    return expired


async def _expire(database: Database, due: DueApproval, clock: Clock) -> bool:
    async with database.transaction(due.org_id) as connection:
        approval = await lock_approval(connection, due.org_id, due.approval_id)
        if approval.status is not ApprovalStatus.PENDING:
            return False  # decided in the meantime
        # The server's clock found it due; this one may be a little behind.
        now = max(clock(), approval.expires_at)
        status = move(approval.approval_id, approval.status, ApprovalStatus.EXPIRED)
        await save_state(connection, replace(approval, status=status))
        await move_action(
            connection, due.org_id, approval.action_id, ActionStatus.PENDING_APPROVAL, ActionStatus.DENIED, now
        )
        expired = Event(
            event_type=EventType.APPROVAL_EXPIRED,
            created_at=now,
            actor=SYSTEM,
            data={
                "approval_id": approval.approval_id,
                "reason": "expired",
                "expires_at": rfc3339(approval.expires_at),
                "current_approvals": approval.current_approvals,
                "required_approvals": approval.required_approvals,
            },
            action_id=approval.action_id,
            agent_id=approval.agent_id,
        )
        await append(connection, due.org_id, [expired])
    return True
