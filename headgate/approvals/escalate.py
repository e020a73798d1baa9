"""Escalates an approval at a person's word, as the clock does when nobody answers (``attend``)."""

from msgspec import Struct

from headgate.approvals.approver import actor_of, approver_of_now, parties_to
from headgate.approvals.attend import record_escalation
from headgate.approvals.attention import escalated
from headgate.approvals.model import Approval, VoteDecision
from headgate.approvals.store import lock_approval
from headgate.approvals.vote_checks import check_open, checked_reason
from headgate.approvals.vote_store import votes_of
from headgate.approvals.voting import Voter, check_right
from headgate.db.database import Database
from headgate.db.server_clock import server_now
from headgate.kernel.clock import Clock, rfc3339
from headgate.kernel.errors import ConflictError


class EscalateApproval(Struct, frozen=True):
    """The use case behind POST /v1/approvals/{id}/escalate."""

    database: Database
    clock: Clock

    async def escalate(self, org_id: str, approval_id: str, voter: Voter, reason: str | None) -> Approval:
        """A person who may decide an approval may escalate it, once.

        Raises NotFoundError, ForbiddenError, ValidationError, ConflictError (decided, or escalated before),
        UnavailableError.
        """
        said = checked_reason(reason, is_required=False)
        async with self.database.transaction(org_id) as connection:
            before = await lock_approval(connection, org_id, approval_id)
            now = max(self.clock(), await server_now(connection))
            voter = await approver_of_now(connection, org_id, voter, now)
            votes = await votes_of(connection, org_id, approval_id)
            check_right(before, votes, voter, await parties_to(connection, before), VoteDecision.DENY)
            check_open(before, now)
            if before.escalated_at is not None:
                raise ConflictError(
                    f"approval {approval_id} was escalated at {rfc3339(before.escalated_at)}",
                    details={"approval_id": approval_id, "escalated_at": rfc3339(before.escalated_at)},
                )
            approval = escalated(before, now)
            await record_escalation(connection, before, approval, now, actor_of(voter), voter.email, said)
        return approval
