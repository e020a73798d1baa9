"""Ends pending approvals when a connection changes to another account.

Calls that were approved, queued or granted earlier cannot use the new account either. The approval's digest includes
when the account was set (``Connection.covered``), and an earlier grant does not cover the new account
(``GrantBook.covering``). This module ends pending approvals so that people do not decide about calls that cannot be
made.
"""

from headgate.approvals.connection_store import pending_with
from headgate.approvals.expire import end_undecided
from headgate.approvals.model import ApprovalStatus
from headgate.approvals.store import lock_approval
from headgate.connections.model import Connection
from headgate.organizations.change import OrganizationChange


async def end_what_was_asked(change: OrganizationChange, before: Connection, after: Connection) -> Connection:
    """Ends the approvals about ``before``'s account and returns ``after``. Runs in the caller's transaction."""
    if after.account_since == before.account_since:
        return after
    for approval_id in await pending_with(change.connection, change.org_id, after.connection_id):
        approval = await lock_approval(change.connection, change.org_id, approval_id)
        if approval.status is ApprovalStatus.PENDING:
            reason = f"the connection {after.name} changed to another account at"
            await end_undecided(change.connection, change.org_id, approval, change.at, change.actor, reason)
    return after
