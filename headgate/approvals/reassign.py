"""Reassigns an approval: its requirements, the lists that show it, a step and an event."""

from collections.abc import Sequence

from msgspec import Struct

from headgate.approvals.approver import actor_of, approver_of_now, parties_to
from headgate.approvals.attention import newly_asked
from headgate.approvals.group_store import missing_groups
from headgate.approvals.history import HistoryVerb, Step
from headgate.approvals.model import Approval
from headgate.approvals.reassigning import Assignees, parse_assignees, reassigned
from headgate.approvals.step_store import add_step
from headgate.approvals.store import lock_approval, save_requirements
from headgate.approvals.vote_store import votes_of
from headgate.approvals.voting import Voter
from headgate.audit.model import Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.db.server_clock import server_now
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ValidationError
from headgate.organizations.store import find_users


class ReassignApproval(Struct, frozen=True):
    """The use case behind POST /v1/approvals/{id}/reassign."""

    database: Database
    clock: Clock

    async def reassign(
        self,
        org_id: str,
        approval_id: str,
        voter: Voter,
        names: Sequence[str],
        reason: str | None,
        *,
        policy_id: str | None = None,
    ) -> Approval:
        """Raises NotFoundError, ForbiddenError, ValidationError, ConflictError, UnavailableError."""
        assignees = parse_assignees(names)
        async with self.database.transaction(org_id) as connection:
            before = await lock_approval(connection, org_id, approval_id)
            now = max(self.clock(), await server_now(connection))
            voter = await approver_of_now(connection, org_id, voter, now)
            approval = reassigned(
                before,
                await votes_of(connection, org_id, approval_id),
                voter,
                assignees,
                reason=reason,
                now=now,
                parties=await parties_to(connection, before),
                policy_id=policy_id,
            )
            await _check_known(connection, org_id, assignees)
            await save_requirements(connection, approval)
            data: JsonObject = {
                "assignees": [*approval.assignees],
                "before": [*before.assignees],
                "added": [*newly_asked(before.requirements, approval.requirements)],
            }
            if policy_id is not None:
                data["policy_id"] = policy_id
            step = Step(HistoryVerb.REASSIGNED, now, voter.voter_id, voter.email, (reason or "").strip(), data)
            await add_step(connection, org_id, approval_id, step)
            event = Event(
                event_type=EventType.APPROVAL_REASSIGNED,
                created_at=now,
                actor=actor_of(voter),
                data={
                    "approval_id": approval_id,
                    **data,
                    "reason": step.reason,
                    "requirements": [one.record() for one in approval.requirements],
                },
                action_id=approval.action_id,
                agent_id=approval.agent_id,
            )
            await append(connection, org_id, [event])
        return approval


async def _check_known(connection: Connection, org_id: str, assignees: Assignees) -> None:
    """An e-mail address may belong to a person who has not signed in yet. An unknown id or group is a typing error."""
    users = await find_users(connection, org_id, assignees.user_ids)
    unknown = [one for one in assignees.user_ids if one not in users]
    gone = [one.user_id for one in users.values() if one.deactivated_at is not None]
    groups = await missing_groups(connection, org_id, assignees.groups)
    for names, reason in ((unknown, "no such user"), (gone, "deactivated"), (groups, "no such group")):
        if names:
            raise ValidationError(
                f"assignees: {reason}: {', '.join(names)[:500]}",
                details={"field": "assignees", "reason": reason, "names": names[:20]},
            )
