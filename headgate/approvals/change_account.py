"""A connection that stands for another account than before: what was asked about the one before ends.

Approved and unused, queued or granted before, nothing serves calls as the other account either: the digest that an
approval is bound to names the account's beginning (``Connection.covered``), and a grant of before does not cover them
(``GrantBook.covering``). Ending what is still asked is for people, who would decide about what cannot be used.
"""

from headgate.approvals.connection_store import pending_with
from headgate.approvals.expire import end_undecided
from headgate.approvals.model import ApprovalStatus
from headgate.approvals.store import lock_approval
from headgate.audit.change import Change
from headgate.connections.model import Connection
from headgate.db import database


async def end_what_was_asked(
    db: database.Connection, change: Change, before: Connection, after: Connection
) -> Connection:
    """``after``, once the approvals about ``before``'s account have ended. In the caller's transaction."""
    if after.account_since == before.account_since:
        return after
    for approval_id in await pending_with(db, change.org_id, after.connection_id):
        approval = await lock_approval(db, change.org_id, approval_id)
        if approval.status is ApprovalStatus.PENDING:
            reason = f"the connection {after.name} stands for another account since"
            await end_undecided(db, change.org_id, approval, change.at, change.actor, reason)
    return after
