"""Stores an organization's allowlist, and signs people in."""

from datetime import datetime

from headgate.audit.model import Actor, ActorType, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.kernel.canonical_json import JsonValue, canonical_bytes
from headgate.kernel.clock import Clock, rfc3339
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.change import OrganizationChange
from headgate.organizations.change_setting import change_setting
from headgate.organizations.destinations import parse_allowlist
from headgate.organizations.model import Setting, SettingName, TokenIdentity, User
from headgate.organizations.store import (
    bump_generation_for_person,
    find_organization,
    find_users_by_email,
    upsert_user,
)
from headgate.organizations.stored_rules import stored_bounds


async def put_allowlist(change: OrganizationChange, document: JsonValue) -> Setting:
    """Check and store the organization's allowlist; decisions made on the one before become stale.

    Raises ValidationError, which names the entry.
    """
    bounds = await stored_bounds(change.connection, change.org_id)
    allowlist = parse_allowlist(canonical_bytes(document).decode(), bounds)
    allowlist.require_call_names()
    allowlist.require_within_bounds()
    return await change_setting(change, SettingName.ALLOWLIST, document, moves_generation=True)


async def sign_in(database: Database, identity: TokenIdentity, *, clock: Clock, stated_at: float | None = None) -> User:
    """Returns the user of a verified token, and creates it at the first sign-in. The user has the roles in this token;
    the stored data are those of the newest token, by ``stated_at`` (the token's own time, if it has one).

    Raises ForbiddenError: the token's organization does not exist (an issuer cannot create one), or the person was
    deactivated.
    """
    async with database.transaction(identity.org_id) as connection:
        return await sign_in_as(connection, identity, clock=clock, stated_at=stated_at)


async def sign_in_as(
    connection: Connection, identity: TokenIdentity, *, clock: Clock, stated_at: float | None = None
) -> User:
    """``sign_in`` within a transaction of the identity's organization."""
    if await find_organization(connection, identity.org_id) is None:
        raise ForbiddenError("the organization of this token does not exist on this server")
    await bump_generation_for_person(connection, identity, stated_at)
    user, is_new = await upsert_user(connection, identity, stated_at)
    require_active(user.user_id, user.deactivated_at)
    if is_new:
        await _refuse_shut_out(connection, user)
        await append(connection, user.org_id, [_user_created(user, clock)])
    return user


async def _refuse_shut_out(connection: Connection, user: User) -> None:
    """Who was shut out does not come in through an issuer that has not brought them before. Raises ForbiddenError."""
    if user.email is None:
        return
    same = await find_users_by_email(connection, user.org_id, user.email)
    others = [one for one in same if one.user_id != user.user_id]
    if others and all(one.deactivated_at is not None for one in others):
        require_active(others[0].user_id, others[0].deactivated_at)


def require_active(user_id: str, deactivated_at: datetime | None) -> None:
    """Raises ForbiddenError."""
    if deactivated_at is not None:
        raise ForbiddenError(
            f"{user_id} was deactivated at {rfc3339(deactivated_at)}. An administrator can reactivate this user",
            details={"user_id": user_id, "deactivated_at": rfc3339(deactivated_at)},
        )


def _user_created(user: User, clock: Clock) -> Event:
    data: dict[str, JsonValue] = {
        "email": user.email,
        "issuer": user.issuer,
        "roles": [role.value for role in sorted(user.roles)],
        "subject": user.subject,
        "user_id": user.user_id,
    }
    return Event(EventType.USER_CREATED, clock(), user_actor(user), data)


def user_actor(user: User) -> Actor:
    """A person as the record names them."""
    return Actor(ActorType.USER, user.user_id, user.email or user.name)
