"""What must happen in a database that was restored before anybody works with it.

The backup is older than the world: what it shows as open may have been done since. So everything that would let a call
through without a new decision is withdrawn (docs/decisions/0090-a-restore-is-an-event.md), and the audit log says that
the instance was restored, from what, and where the log ended then.
"""

from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.approvals.expire import withdraw
from headgate.approvals.store import lock_approval, unused_approvals
from headgate.audit.model import SYSTEM, EventType
from headgate.break_glass.store import end_unused
from headgate.db.database import Database
from headgate.executions.withdraw import withdraw_executions
from headgate.grants.service import revoke_grant
from headgate.grants.store import grants_in_force
from headgate.journal.apply import apply_due
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.organizations.change import OrganizationChange
from headgate.organizations.store import jump_generation
from headgate.sessions.store import end_all_sign_ins

WITHDRAWN: Final = "withdrawn: the instance was restored from a backup, and this approval may have been used since"
_REVOKED: Final = "the instance was restored from a backup, and this grant may have been used or revoked since"


class Restored(Struct, frozen=True):
    """From what. ``head_seq`` and ``head_hash`` (hex) are of the organization's newest event in the backup;
    ``checkpoint``: its newest signed note there; ``waiting``: events that the backup holds and that were not sealed."""

    org_id: str
    backup_id: str
    backup_at: datetime
    restored_by: str
    head_seq: int
    head_hash: str | None
    waiting: int
    checkpoint: str | None


class Withdrawn(Struct, frozen=True):
    """How many of each."""

    approvals: int
    queued_executions: int
    running_executions: int
    grants: int
    break_glass: int
    sessions: int


async def seal_all(database: Database) -> None:
    """Applies what the journal holds, as the worker would. Raises UnavailableError."""
    while await apply_due(database):
        pass


async def continue_organization(change: OrganizationChange, restored: Restored) -> Withdrawn:
    """Withdraws what is open, and records the restore."""
    # Executions first: what was queued is approved, and ends as failed, not as withdrawn.
    queued, running = await withdraw_executions(change)
    approvals = await unused_approvals(change.connection, change.org_id)
    for approval_id in approvals:
        approval = await lock_approval(change.connection, change.org_id, approval_id)
        await withdraw(change.connection, change.org_id, approval, change.at, SYSTEM, WITHDRAWN)
    grants = await grants_in_force(change.connection, change.org_id)
    for grant in grants:
        await revoke_grant(change, grant.grant_id, _REVOKED)
    withdrawn = Withdrawn(
        approvals=len(approvals),
        queued_executions=queued,
        running_executions=running,
        grants=len(grants),
        break_glass=await end_unused(change.connection, change.org_id, change.at),
        sessions=await end_all_sign_ins(change.connection, change.org_id, change.at),
    )
    await jump_generation(change.connection, change.org_id)
    await change.record(EventType.BACKUP_RESTORED, _said(restored, withdrawn))
    return withdrawn


def _said(restored: Restored, withdrawn: Withdrawn) -> JsonObject:
    data: JsonObject = {
        "backup_id": restored.backup_id,
        "backup_at": rfc3339(restored.backup_at),
        "restored_by": restored.restored_by,
        "head_seq": restored.head_seq,
        "waiting": restored.waiting,
        "withdrawn": {
            "approvals": withdrawn.approvals,
            "queued_executions": withdrawn.queued_executions,
            "running_executions": withdrawn.running_executions,
            "grants": withdrawn.grants,
            "break_glass": withdrawn.break_glass,
            "sessions": withdrawn.sessions,
        },
    }
    if restored.head_hash is not None:
        data["head_hash"] = f"sha256:{restored.head_hash}"
    if restored.checkpoint is not None:
        data["checkpoint"] = restored.checkpoint
    return data
