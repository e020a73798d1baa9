"""Resolves the voter: account status, groups, absences, and the people whose approvals the voter may not decide.

All of it is read in the transaction that casts the vote, so a person who was removed a moment ago is refused.
"""

from datetime import datetime

from msgspec.structs import replace

from headgate.agents.scopes import Scope, scopes_of_roles
from headgate.approvals.absence_store import stands_in_for
from headgate.approvals.agent_owner_store import parties_of_agent
from headgate.approvals.group_store import groups_of
from headgate.approvals.model import Approval
from headgate.approvals.standing import NO_PARTIES, Parties
from headgate.approvals.voting import Voter
from headgate.audit.model import Actor, ActorType
from headgate.db.database import Connection
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.model import User
from headgate.organizations.store import find_users, find_users_by_email, persons_of
from headgate.policies.version_store import author_of


async def approver_of_now(connection: Connection, org_id: str, voter: Voter, now: datetime) -> Voter:
    """Reads the current groups and absences. A key votes as the user who created it: assignments by that user's e-mail
    apply to the key, and the key may do nothing that the user may not.

    Raises ForbiddenError for a deactivated person, or one whose newest token carries no right to decide.
    """
    if voter.user_id is None or voter.agent_id is not None:
        return voter
    user_id = voter.user_id
    user = (await find_users(connection, org_id, [user_id])).get(user_id)
    if user is not None:
        _check_still_here(user, voter)
        if voter.email is None:
            voter = replace(voter, email=user.email, name=user.name)
    return replace(
        voter,
        also=await _also(connection, org_id, user_id, voter.email),
        groups=await groups_of(connection, org_id, user_id, voter.email),
        stands_in_for=await stands_in_for(connection, org_id, user_id, now),
    )


async def _also(connection: Connection, org_id: str, user_id: str, email: str | None) -> frozenset[str]:
    """A person has one vote, and one separation of duties, across all issuers through which they sign in. An older
    token may name another address than the newest, which ``persons_of`` goes by: then the users of both count."""
    persons = await persons_of(connection, org_id, [user_id])
    same = [] if email is None else await find_users_by_email(connection, org_id, email)
    return persons[user_id].union(one.user_id for one in same) - {user_id}


def _check_still_here(user: User, voter: Voter) -> None:
    if user.deactivated_at is not None:
        raise ForbiddenError(
            f"{user.user_id} was deactivated at {rfc3339(user.deactivated_at)} and may not decide approvals",
            details={"user_id": user.user_id, "deactivated_at": rfc3339(user.deactivated_at)},
        )
    if voter.key_id is None:
        return  # A token carries its own rights; only a key depends on its user's newest token.
    scopes = scopes_of_roles(user.roles)
    if Scope.ADMIN not in scopes and Scope.APPROVALS_WRITE not in scopes:
        raise ForbiddenError(
            f"{user.user_id}, the owner of this key, may no longer decide approvals",
            details={"user_id": user.user_id, "missing_scope": Scope.APPROVALS_WRITE.value},
        )


async def parties_to(connection: Connection, approval: Approval) -> Parties:
    """Finds the agent's owners and the policies' authors where a policy bars them from deciding."""
    kept_apart = [one for one in approval.requirements if one.separation_of_duties]
    if not kept_apart:
        return NO_PARTIES
    authors = {
        one.policy_id: await author_of(connection, approval.org_id, one.policy_id, one.policy_version)
        for one in kept_apart
    }
    return await parties_of_agent(connection, approval.org_id, approval.agent_id, authors)


def actor_of(voter: Voter) -> Actor:
    """The voter is a person, or a program whose key has no creating user."""
    if voter.user_id is not None:
        return Actor(ActorType.USER, voter.user_id, voter.email or voter.name, voter.address)
    return Actor(ActorType.SYSTEM, voter.voter_id, voter.name, voter.address)
