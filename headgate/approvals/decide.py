"""A person decides a held action: vote, approval, action and event in one transaction, then a wake-up."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from msgspec import Struct
from redis.asyncio import Redis

from headgate.actions.model import ActionStatus
from headgate.actions.store import move_action
from headgate.approvals.announce_decision import announce_decision
from headgate.approvals.approver import actor_of, approver_of_now, parties_to
from headgate.approvals.mapped_voter import DEFAULT_TRUST, RolesNow, mapped_voter, no_issuer
from headgate.approvals.model import ApprovalStatus, VoteDecision
from headgate.approvals.store import lock_approval, save_state
from headgate.approvals.vote_store import save_vote, votes_of
from headgate.approvals.voting import Outcome, Voter, cast_vote
from headgate.audit.change import Change
from headgate.audit.model import Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.db.server_clock import server_now
from headgate.executions.keep_call import APPROVED_PRIORITY, queue_call
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.organizations.change import OrganizationChange, begin_change
from headgate.organizations.model import User

_EVENT: Final = {
    ApprovalStatus.PENDING: EventType.APPROVAL_VOTED,
    ApprovalStatus.APPROVED: EventType.APPROVAL_APPROVED,
    ApprovalStatus.DENIED: EventType.APPROVAL_DENIED,
}
_ACTION_STATUS: Final = {
    ApprovalStatus.APPROVED: ActionStatus.APPROVED,
    ApprovalStatus.DENIED: ActionStatus.DENIED,
}


class DecideApproval(Struct, frozen=True):
    """The use case behind approve, deny and the admin decision. ``valkey`` None: wake-ups by polling only.

    ``sign_in_trust``: how long after a sign-in a person may decide through links, chats and trackers. ``roles_now``:
    what their issuers are trusted with.
    """

    database: Database
    valkey: Redis | None
    clock: Clock
    sign_in_trust: timedelta = DEFAULT_TRUST
    roles_now: RolesNow = no_issuer

    def mapped_voter(self, user: User) -> Voter:
        """This user as a voter through a link, a chat or a tracker. Raises ForbiddenError."""
        return mapped_voter(user, now=self.clock(), trust=self.sign_in_trust, roles_now=self.roles_now)

    async def decide(
        self,
        org_id: str,
        approval_id: str,
        voter: Voter,
        decision: VoteDecision,
        reason: str | None,
        *,
        seen_digest: bytes | None = None,
        denial_needs_reason: bool = True,
        then: Callable[[OrganizationChange, Outcome, Voter], Awaitable[None]] | None = None,
    ) -> Outcome:
        """Casts a vote. The vote is durable when this returns; the approval stays pending if it needs more votes.

        ``seen_digest``: the digest of the action that the voter reviewed, if they state it. ``then`` runs in the same
        transaction: an exception from it undoes the vote. Raises NotFoundError, ForbiddenError, ValidationError,
        ConflictError, UnavailableError.
        """
        by = Change(org_id, actor_of(voter), voter.user_id, self.clock())
        async with begin_change(self.database, by) as change:
            connection = change.connection
            # Lock before reading: of two simultaneous decisions, the second sees the first.
            approval = await lock_approval(connection, org_id, approval_id)
            votes = await votes_of(connection, org_id, approval_id)
            # Check both clocks. Either one alone, if slow, would count a vote after the expiry.
            now = max(change.at, await server_now(connection))
            voter = await approver_of_now(connection, org_id, voter, now)
            outcome = cast_vote(
                approval,
                votes,
                voter,
                decision=decision,
                reason=reason,
                now=now,
                parties=await parties_to(connection, approval),
                seen_digest=seen_digest,
                denial_needs_reason=denial_needs_reason,
            )
            await save_outcome(connection, outcome, voter)
            if then is not None:
                await then(change, outcome, voter)
        if outcome.decided:
            await announce_decision(self.valkey, approval_id)
        return outcome


async def save_outcome(connection: Connection, outcome: Outcome, voter: Voter) -> None:
    """Records the vote, the new state of the approval and its action, and the event. The caller holds the approval's
    lock."""
    approval, vote = outcome.approval, outcome.vote
    await save_vote(connection, approval.org_id, vote)
    await save_state(connection, approval)
    if outcome.decided:
        target = _ACTION_STATUS[approval.status]
        await move_action(
            connection, approval.org_id, approval.action_id, ActionStatus.PENDING_APPROVAL, target, vote.decided_at
        )
    if approval.status is ApprovalStatus.APPROVED:
        await queue_call(connection, approval.org_id, approval.action_id, vote.decided_at, priority=APPROVED_PRIORITY)
    await append(connection, approval.org_id, [_event(outcome, voter)])


def _event(outcome: Outcome, voter: Voter) -> Event:
    approval, vote = outcome.approval, outcome.vote
    data: JsonObject = {
        "approval_id": approval.approval_id,
        "vote": vote.decision.value,
        "current_approvals": approval.current_approvals,
        "required_approvals": approval.required_approvals,
        "digest": "sha256:" + approval.approved_digest.hex(),
        "as_admin": vote.as_admin,
        "standing": [one.record() for one in vote.standing],
    }
    if vote.email is not None:
        data["email"] = vote.email
    if vote.on_behalf_of is not None:
        data["on_behalf_of"] = vote.on_behalf_of
    if vote.reason is not None:
        data["reason" if vote.decision is VoteDecision.DENY else "comment"] = vote.reason
    if vote.key_id is not None:
        data["key_id"] = vote.key_id
    return Event(
        event_type=_EVENT[approval.status],
        created_at=vote.decided_at,
        actor=actor_of(voter),
        data=data,
        action_id=approval.action_id,
        agent_id=approval.agent_id,
    )
