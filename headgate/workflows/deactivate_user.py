"""An administrator shuts a person out, lets them in again, or signs them out: all of it in the caller's transaction.

A person who signs in through several issuers with one verified address is shut out as every one of these users: as they
have one vote, they have one end. They are let in again as the one that was named, since it may be an issuer that should
not have known them; the others are told. With them stop the keys that they made for programs, and go on once the person
is let in again, or once somebody else answers for them. What they made for agents is the agents' own.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from headgate.agents.key_listing_store import keys_of_person
from headgate.agents.model import ApiKey
from headgate.audit.model import EventType
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError
from headgate.mfa.closed_sessions import close_tokens_of
from headgate.organizations.change import OrganizationChange
from headgate.organizations.invitations import open_invitations_of
from headgate.organizations.model import User
from headgate.organizations.store import find_users_by_email, get_user, set_deactivated
from headgate.sessions.service import EndReason, close_sessions
from headgate.workflows.manage_members import revoke_invitation


class Standing(Struct, frozen=True):
    """A person as they stand now. ``also``: the other users that they are, by their verified address.

    ``keys``: of programs, which stop and go on with them; ``agent_keys``: made for agents; they may have kept them.
    """

    user: User
    also: tuple[User, ...]
    keys: tuple[ApiKey, ...]
    agent_keys: tuple[ApiKey, ...]


async def deactivate_user(change: OrganizationChange, user_id: str) -> Standing:
    """As every user that the person is. Again is no change. Raises NotFoundError, ConflictError (oneself)."""
    user, also = await _person(change.connection, change.org_id, user_id)
    if change.user_id in {user.user_id, *(one.user_id for one in also)}:
        raise ConflictError("You cannot deactivate yourself. Another administrator can.")
    keys = await keys_of_person(change.connection, change.org_id, [user_id, *(one.user_id for one in also)], change.at)
    stopping = [key.key_id for key in keys if key.agent_id is None and key.stopped_at is None]
    for one in (user, *also):
        await _set(change, one, change.at, stopping if one is user else [])
    return await _standing(change, user_id)


async def reactivate_user(change: OrganizationChange, user_id: str) -> Standing:
    """As this user. Again is no change. Raises NotFoundError, ConflictError (oneself, also as another user)."""
    user, also = await _person(change.connection, change.org_id, user_id)
    if change.user_id in {user.user_id, *(one.user_id for one in also)}:
        raise ConflictError("You cannot reactivate yourself. Another administrator can.")
    await _set(change, user, None, [])
    return await _standing(change, user_id)


async def sign_out_everywhere(change: OrganizationChange, user_id: str, *, address: str | None = None) -> list[str]:
    """Browser sessions, on record, and every token that was issued until now. Answers the sessions."""
    await close_tokens_of(change.connection, change.org_id, user_id, change.at)
    return await close_sessions(
        change.connection, change.actor, change.org_id, user_id, at=change.at, reason=EndReason.REVOKED, address=address
    )


async def _person(connection: Connection, org_id: str, user_id: str) -> tuple[User, Sequence[User]]:
    """Raises NotFoundError."""
    user = await get_user(connection, org_id, user_id)
    same = [] if user.email is None else await find_users_by_email(connection, org_id, user.email)
    return user, [one for one in same if one.user_id != user_id]


async def _standing(change: OrganizationChange, user_id: str) -> Standing:
    user, also = await _person(change.connection, change.org_id, user_id)
    keys = await keys_of_person(change.connection, change.org_id, [user_id, *(one.user_id for one in also)], change.at)
    return Standing(
        user,
        tuple(also),
        tuple(key for key in keys if key.agent_id is None),
        tuple(key for key in keys if key.agent_id is not None),
    )


async def _set(change: OrganizationChange, user: User, at: datetime | None, stopping: Sequence[str]) -> User:
    if (user.deactivated_at is None) == (at is None):
        return user
    # Grants that this person gave count them no more, or again; nor do keys.
    await change.raise_generation()
    await set_deactivated(change.connection, change.org_id, user.user_id, at)
    told: JsonObject = {"user_id": user.user_id, "email": user.email, "issuer": user.issuer}
    if at is not None:
        told["keys_stopped"] = [*stopping]
        # Whoever comes back signs in anew: what somebody may have stolen meanwhile stays closed.
        await sign_out_everywhere(change, user.user_id)
        # Nor does the way in that they may have made for themselves, under another name.
        for invitation_id in await open_invitations_of(change.connection, change.org_id, user.user_id, change.at):
            await revoke_invitation(change, invitation_id)
    event_type = EventType.USER_REACTIVATED if at is None else EventType.USER_DEACTIVATED
    await change.record(event_type, told)
    return replace(user, deactivated_at=at)
