"""What is done with an organization's settings and people."""

from headgate.audit.model import Actor, ActorType, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.kernel.canonical_json import JsonValue, canonical_bytes
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.destinations import parse_allowlist
from headgate.organizations.model import Setting, SettingName, TokenIdentity, User
from headgate.organizations.store import bump_generation, find_organization, put_setting, upsert_user


async def put_allowlist(
    connection: Connection, org_id: str, document: JsonValue, *, actor: Actor, user_id: str | None, clock: Clock
) -> Setting:
    """Check and store the organization's allowlist; decisions made on the one before become stale.

    Raises ValidationError, which names the entry.
    """
    text = canonical_bytes(document).decode()
    parse_allowlist(text)
    generation = await bump_generation(connection, org_id)
    setting = await put_setting(connection, org_id, SettingName.ALLOWLIST, text, user_id)
    data: dict[str, JsonValue] = {
        "document": document,
        "generation": generation,
        "name": setting.name.value,
        "version": setting.version,
    }
    await append(connection, org_id, [Event(EventType.SETTING_CHANGED, clock(), actor, data)])
    return setting


async def sign_in(database: Database, identity: TokenIdentity, *, clock: Clock) -> User:
    """The user of a verified token, made at the first sight of it.

    Raises ForbiddenError where the token's organization does not exist here: an issuer cannot make one.
    """
    async with database.transaction(identity.org_id) as connection:
        if await find_organization(connection, identity.org_id) is None:
            raise ForbiddenError("the organization that this token names does not exist here")
        user, is_new = await upsert_user(connection, identity)
        if is_new:
            await append(connection, user.org_id, [_user_created(user, clock)])
        return user


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
