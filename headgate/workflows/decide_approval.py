"""A person decides a held action: vote, approval, action and event in one transaction, then a wake-up."""

from dataclasses import dataclass, replace
from typing import Final

from redis.asyncio import Redis

from headgate.actions.model import ActionStatus
from headgate.actions.store import move_action
from headgate.approvals.model import ApprovalStatus, VoteDecision
from headgate.approvals.store import lock_approval, save_state
from headgate.approvals.vote_store import save_vote, votes_of
from headgate.approvals.voting import Outcome, Voter, cast_vote
from headgate.audit.model import Actor, ActorType, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.organizations.store import find_users
from headgate.workflows.announce_decision import announce_decision

_EVENT: Final = {
    ApprovalStatus.PENDING: EventType.APPROVAL_VOTED,
    ApprovalStatus.APPROVED: EventType.APPROVAL_APPROVED,
    ApprovalStatus.DENIED: EventType.APPROVAL_DENIED,
}
_ACTION_STATUS: Final = {
    ApprovalStatus.APPROVED: ActionStatus.APPROVED,
    ApprovalStatus.DENIED: ActionStatus.DENIED,
}


@dataclass(frozen=True, slots=True)
class DecideApproval:
    """The use case behind approve, deny and the admin decision. ``valkey`` None: wake-ups by polling only."""

    database: Database
    valkey: Redis | None
    clock: Clock

    async def decide(
        self, org_id: str, approval_id: str, voter: Voter, decision: VoteDecision, reason: str | None
    ) -> Outcome:
        """Durable when this returns; the approval may still be pending, where more votes are needed.

        Raises NotFoundError, ForbiddenError, ValidationError, ConflictError, UnavailableError.
        """
        async with self.database.transaction(org_id) as connection:
            # Locked before anything is looked at: of two decisions at the same moment the second sees the first.
            approval = await lock_approval(connection, org_id, approval_id)
            votes = await votes_of(connection, org_id, approval_id)
            voter = await _with_person(connection, org_id, voter)
            now = self.clock()
            outcome = cast_vote(approval, votes, voter, decision=decision, reason=reason, now=now)
            await save_vote(connection, org_id, outcome.vote)
            await save_state(connection, outcome.approval)
            if outcome.decided:
                target = _ACTION_STATUS[outcome.approval.status]
                await move_action(connection, org_id, approval.action_id, ActionStatus.PENDING_APPROVAL, target, now)
            await append(connection, org_id, [_event(outcome, voter)])
        if outcome.decided:
            await announce_decision(self.valkey, approval_id)
        return outcome


async def _with_person(connection: Connection, org_id: str, voter: Voter) -> Voter:
    """A key votes as the user who created it: an assignment by that user's e-mail is the key's too."""
    if voter.user_id is None or voter.email is not None:
        return voter
    user = (await find_users(connection, org_id, [voter.user_id])).get(voter.user_id)
    return voter if user is None else replace(voter, email=user.email, name=user.name)


def _event(outcome: Outcome, voter: Voter) -> Event:
    approval, vote = outcome.approval, outcome.vote
    data: JsonObject = {
        "approval_id": approval.approval_id,
        "vote": vote.decision.value,
        "current_approvals": approval.current_approvals,
        "required_approvals": approval.required_approvals,
        "digest": "sha256:" + approval.digest.hex(),
    }
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


def actor_of(voter: Voter) -> Actor:
    """A person, or a program whose key no user created."""
    if voter.user_id is not None:
        return Actor(ActorType.USER, voter.user_id, voter.email or voter.name)
    return Actor(ActorType.SYSTEM, voter.voter_id, voter.name)
