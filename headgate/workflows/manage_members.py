"""Organizations and who belongs to them: each change with its event, in a transaction of that organization."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.agents.scopes import Scope, scopes_of_roles
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM, EventType
from headgate.db.database import Connection, Database
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.clock import Clock, rfc3339
from headgate.kernel.errors import ConflictError, ForbiddenError, NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.service import seed_default_nlp_policies
from headgate.organizations.change import OrganizationChange, begin_change
from headgate.organizations.invitations import (
    Invitation,
    InvitationStatus,
    close_invitation,
    find_invitation,
    insert_invitation,
    locate_invitation,
)
from headgate.organizations.local_issuer import LOCAL_ISSUER
from headgate.organizations.mail_addresses import same_address
from headgate.organizations.model import GRANTABLE_ROLES, Organization, Role, TokenIdentity, User
from headgate.organizations.service import sign_in_as, user_actor
from headgate.organizations.store import (
    find_users,
    get_organization,
    get_user,
    insert_organization,
    set_granted_roles,
)
from headgate.passkeys.service import NewPasskey, Passkeys
from headgate.policies.service import seed_default_policies
from headgate.sessions.model import hash_secret, new_secret

_NOT_YOURS: Final = "This invitation is not open. It was used, revoked, or has expired. Ask for a new one."
_FIRST_PASSKEY: Final = "First passkey"


class MadeInvitation(Struct, frozen=True):
    """An invitation at the one moment at which its secret is known."""

    invitation: Invitation
    secret: Secret


async def create_organization(database: Database, by: Change, name: str) -> Organization:
    """A new organization, as the seeded one begins: with the default policies and nobody in it. ``by.org_id`` is
    the operator's own; the event is in the record of the new one."""
    org_id = new_id(IdPrefix.ORGANIZATION)
    async with begin_change(database, replace(by, org_id=org_id)) as change:
        await insert_organization(change.connection, org_id, name)
        made = await get_organization(change.connection, org_id)
        told: JsonObject = {"organization_id": org_id, "name": name, "operator_organization_id": by.org_id}
        await change.record(EventType.ORGANIZATION_CREATED, told)
        seeding = replace(change, actor=SYSTEM, user_id=None)
        await seed_default_policies(seeding)
        await seed_default_nlp_policies(seeding)
    return made


async def invite(change: OrganizationChange, email: str, roles: Iterable[Role], lifetime: timedelta) -> MadeInvitation:
    """Raises ValidationError (roles that nobody is invited to)."""
    secret = new_secret()
    invitation = Invitation(
        org_id=change.org_id,
        invitation_id=new_id(IdPrefix.INVITATION),
        email=email.strip(),
        roles=_grantable(roles),
        created_by=change.user_id,
        created_at=change.at,
        expires_at=change.at + lifetime,
    )
    if not invitation.roles:
        raise ValidationError("roles: at least one", details={"field": "roles", "reason": "empty"})
    await insert_invitation(change.connection, invitation, hash_secret(secret))
    await _record(change, EventType.INVITATION_CREATED, invitation, {"expires_at": rfc3339(invitation.expires_at)})
    return MadeInvitation(invitation, secret)


async def revoke_invitation(change: OrganizationChange, invitation_id: str) -> Invitation:
    """Raises NotFoundError, ConflictError (it was accepted). Again is no change."""
    invitation = await find_invitation(change.connection, change.org_id, invitation_id)
    if invitation is None:
        raise NotFoundError(f"there is no invitation {invitation_id}")
    if invitation.accepted_at is not None:
        raise ConflictError(
            "The invitation was accepted. Remove the person's roles instead.",
            details={"user_id": invitation.accepted_by},
        )
    if invitation.revoked_at is not None:
        return invitation
    await close_invitation(change.connection, change.org_id, invitation_id, change.at, accepted_by=None)
    await _record(change, EventType.INVITATION_REVOKED, invitation)
    return replace(invitation, revoked_at=change.at)


async def find_open_invitation(database: Database, secret_hash: bytes, now: datetime) -> Invitation:
    """Raises ForbiddenError, the same for unknown, used, revoked and expired."""
    async with database.across_organizations() as connection:
        located = await locate_invitation(connection, secret_hash)
    if located is None:
        raise ForbiddenError(_NOT_YOURS)
    async with database.transaction(located[0]) as connection:
        invitation = await find_invitation(connection, *located)
    if invitation is None or invitation.status(now) is not InvitationStatus.OPEN:
        raise ForbiddenError(_NOT_YOURS)
    return invitation


async def accept_with_passkey(
    database: Database, invitation: Invitation, passkeys: Passkeys, made: NewPasskey, name: str | None, clock: Clock
) -> User:
    """The person that the invitation makes, with their passkey: the link is the proof of who they are.

    Always a new user, named after the invitation: a link never opens an account that was there before. Raises as
    ``accept_invitation``, and ConflictError (the passkey is registered already).
    """
    identity = TokenIdentity(
        org_id=invitation.org_id,
        issuer=LOCAL_ISSUER,
        subject=f"invited:{invitation.invitation_id}",
        email=invitation.email,
        name=name,
        roles=frozenset(),
    )

    async def keep(change: OrganizationChange) -> None:
        if change.user_id is not None:
            await passkeys.keep(change.connection, change.org_id, change.user_id, change.actor, made, _FIRST_PASSKEY)

    return await accept_invitation(database, invitation, identity, clock, joined_by=keep)


async def accept_invitation(
    database: Database,
    invitation: Invitation,
    identity: TokenIdentity,
    clock: Clock,
    *,
    stated_at: float | None = None,
    joined_by: Callable[[OrganizationChange], Awaitable[None]] | None = None,
) -> User:
    """The person becomes a member with the roles of the invitation, once; two who come at the same moment are one.

    ``stated_at``: as for ``sign_in``. ``joined_by``: what happens in the same transaction. Raises ForbiddenError:
    another address than the invited one, or one that the provider has not verified; or the inviter may no longer
    invite.
    """
    if identity.email is None or not same_address(identity.email, invitation.email):
        raise ForbiddenError(
            "This invitation is for a different email address than the one that your identity provider confirms."
        )
    by = Change(invitation.org_id, SYSTEM, None, clock())
    async with begin_change(database, by) as change:
        # Before the invitation's row, as who is shutting its maker out: in the other order each waits for the other.
        await change.raise_generation()
        current = await find_invitation(change.connection, invitation.org_id, invitation.invitation_id)
        if current is None or current.status(change.at) is not InvitationStatus.OPEN:
            raise ForbiddenError(_NOT_YOURS)
        if not await _inviter_may_still_invite(change.connection, current):
            raise ForbiddenError(_NOT_YOURS)
        user = await sign_in_as(change.connection, identity, clock=clock, stated_at=stated_at)
        joined = replace(change, actor=user_actor(user), user_id=user.user_id)
        await close_invitation(
            joined.connection, joined.org_id, invitation.invitation_id, joined.at, accepted_by=user.user_id
        )
        await _record(joined, EventType.INVITATION_ACCEPTED, current, {"user_id": user.user_id})
        if joined_by is not None:
            await joined_by(joined)
        return await _grant(joined, user, user.granted | current.roles)


async def _inviter_may_still_invite(connection: Connection, invitation: Invitation) -> bool:
    """Who was an administrator must not come back as one under another name, by what they wrote themselves. An operator
    is of another organization, where this one asks nobody."""
    if invitation.created_by is None:
        return True
    found = await find_users(connection, invitation.org_id, [invitation.created_by])
    inviter = found.get(invitation.created_by)
    return inviter is None or not scopes_of_roles(inviter.roles).isdisjoint({Scope.ADMIN, Scope.OPERATOR})


async def grant_roles(change: OrganizationChange, user_id: str, roles: Iterable[Role]) -> User:
    """The roles that a person has here besides those of their token; none: they are nobody here but by their token.

    Raises NotFoundError, ValidationError.
    """
    user = await get_user(change.connection, change.org_id, user_id)
    return await _grant(change, user, _grantable(roles))


async def _grant(change: OrganizationChange, user: User, roles: frozenset[Role]) -> User:
    if roles == user.granted:
        return user
    # What a person decided or permitted counts by the rights that they have now.
    await change.raise_generation()
    await set_granted_roles(change.connection, change.org_id, user.user_id, roles)
    told: JsonObject = {"user_id": user.user_id, "from": _names(user.granted), "to": _names(roles)}
    await change.record(EventType.USER_GRANTED, told)
    found = await find_users(change.connection, change.org_id, [user.user_id])
    return found[user.user_id]


async def _record(
    change: OrganizationChange,
    event_type: EventType,
    invitation: Invitation,
    more: JsonObject | None = None,
) -> None:
    told: JsonObject = {
        "invitation_id": invitation.invitation_id,
        "email": invitation.email,
        "roles": _names(invitation.roles),
        **(more or {}),
    }
    await change.record(event_type, told)


def _grantable(roles: Iterable[Role]) -> frozenset[Role]:
    wanted = frozenset(roles)
    if wanted - GRANTABLE_ROLES:
        raise ValidationError(
            "roles: operator and break-glass roles cannot be assigned here. They come from the identity provider.",
            details={"field": "roles", "reason": "not granted", "known": sorted(GRANTABLE_ROLES)},
        )
    return wanted


def _names(roles: Iterable[Role]) -> list[JsonValue]:
    return [role.value for role in sorted(roles)]
