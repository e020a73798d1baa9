"""Rows of organizations, people, settings and generations. All of it inside a transaction of the organization."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from msgspec.structs import replace
from psycopg import sql
from psycopg.rows import DictRow

from headgate.db.bounded_count import BoundedCount, count_rows
from headgate.db.database import Connection
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Organization, Role, Setting, SettingName, TokenIdentity, User

_USER: Final = "org_id, user_id, issuer, subject, email, name, roles"
_GENERATIONS_OF_A_JUMP: Final = 2**32
_IS_OLDER: Final = "excluded.token_stated_at < u.token_stated_at"
"""Null if either token states no time. Then the presented token counts as the newest."""
_READ: Final = (
    "org_id, user_id, issuer, subject, email, name, roles || granted_roles AS roles, granted_roles, deactivated_at,"
    " last_seen_at"
)


async def insert_organization(connection: Connection, org_id: str, name: str) -> bool:
    """Make an organization and its state; False where it is there already. For the owner's role only."""
    inserted = await connection.execute(
        "INSERT INTO organizations (org_id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING", [org_id, name]
    )
    await connection.execute("INSERT INTO org_state (org_id) VALUES (%s) ON CONFLICT DO NOTHING", [org_id])
    return inserted.rowcount == 1


async def find_organization(connection: Connection, org_id: str) -> Organization | None:
    cursor = await connection.execute("SELECT org_id, name, created_at FROM organizations WHERE org_id = %s", [org_id])
    row = await cursor.fetchone()
    return None if row is None else Organization(row["org_id"], row["name"], row["created_at"])


async def get_organization(connection: Connection, org_id: str) -> Organization:
    """Raises NotFoundError."""
    organization = await find_organization(connection, org_id)
    if organization is None:
        raise NotFoundError(f"there is no organization {org_id}")
    return organization


async def list_organizations(connection: Connection, *, before: str | None, limit: int) -> list[Organization]:
    """Newest first, over all of them: for the operator."""
    cursor = await connection.execute("SELECT * FROM organizations_listed(%s, %s)", [before, limit])
    return [Organization(row["org_id"], row["name"], row["created_at"]) async for row in cursor]


async def memberships(connection: Connection, issuer: str, subject: str) -> dict[str, str]:
    """Where somebody made this person a member: the organizations' names by their ids, over all of them."""
    cursor = await connection.execute("SELECT * FROM memberships(%s, %s)", [issuer, subject])
    return {row["org_id"]: row["name"] async for row in cursor}


async def set_granted_roles(connection: Connection, org_id: str, user_id: str, roles: Iterable[Role]) -> None:
    await connection.execute(
        "UPDATE users SET granted_roles = %s WHERE org_id = %s AND user_id = %s", [sorted(roles), org_id, user_id]
    )


async def generation(connection: Connection, org_id: str) -> int:
    """The number of the organization's state (semantics.md, "Fresh state"). Raises NotFoundError."""
    cursor = await connection.execute("SELECT generation FROM org_state WHERE org_id = %s", [org_id])
    return _generation(await cursor.fetchone(), org_id)


async def generations(connection: Connection, org_ids: Iterable[str]) -> dict[str, int]:
    """Those of several organizations, for which this reaches across them."""
    cursor = await connection.execute("SELECT org_id, generation FROM generations(%s)", [list(org_ids)])
    return {row["org_id"]: row["generation"] async for row in cursor}


async def bump_generation(connection: Connection, org_id: str) -> int:
    """Every decision in flight that was made on the state before this transaction becomes stale.

    Takes the row's lock, so that changes of one organization are ordered. Raises NotFoundError.
    """
    cursor = await connection.execute(
        "UPDATE org_state SET generation = generation + 1 WHERE org_id = %s RETURNING generation", [org_id]
    )
    return _generation(await cursor.fetchone(), org_id)


async def jump_generation(connection: Connection, org_id: str) -> int:
    """Further than any number of changes since a backup: no process that outlived it takes its state for the current
    one. Takes the row's lock. Raises NotFoundError."""
    cursor = await connection.execute(
        "UPDATE org_state SET generation = generation + %s WHERE org_id = %s RETURNING generation",
        [_GENERATIONS_OF_A_JUMP, org_id],
    )
    return _generation(await cursor.fetchone(), org_id)


def _generation(row: DictRow | None, org_id: str) -> int:
    if row is None:
        raise NotFoundError(f"there is no organization {org_id}")
    return int(row["generation"])


async def bump_generation_for_person(connection: Connection, identity: TokenIdentity, stated_at: float | None) -> None:
    """``bump_generation``, if this token is the newest of a user and names other roles or another address than the one
    before: processes count the people of grants by both. Call it before ``upsert_user``: the organization's row is
    locked before the user's, as everywhere."""
    await connection.execute(
        "UPDATE org_state SET generation = generation + 1 WHERE org_id = %(org)s AND EXISTS (SELECT FROM users u"
        " WHERE u.org_id = %(org)s AND u.issuer = %(issuer)s AND u.subject = %(subject)s"
        " AND (to_timestamp(%(stated_at)s) < u.token_stated_at) IS NOT TRUE"
        " AND (u.email IS DISTINCT FROM %(email)s OR NOT (u.roles @> %(roles)s AND u.roles <@ %(roles)s)))",
        {
            "org": identity.org_id,
            "issuer": identity.issuer,
            "subject": identity.subject,
            "email": identity.email,
            "roles": sorted(identity.roles),
            "stated_at": stated_at,
        },
    )


async def upsert_user(
    connection: Connection, identity: TokenIdentity, stated_at: float | None = None
) -> tuple[User, bool]:
    """The person whom this token names, as it says; and whether they are new here. Kept is what the newest one said:
    an older one, shown again, brings no right back to what asks for the person and not for the token."""
    cursor = await connection.execute(
        f"INSERT INTO users AS u ({_USER}, token_stated_at)"  # noqa: S608 - a constant of this file
        " VALUES (%s, %s, %s, %s, %s, %s, %s, to_timestamp(%s))"
        " ON CONFLICT (org_id, issuer, subject) DO UPDATE SET last_seen_at = clock_timestamp(),"
        f" email = CASE WHEN {_IS_OLDER} THEN u.email ELSE excluded.email END,"
        f" name = CASE WHEN {_IS_OLDER} THEN u.name ELSE excluded.name END,"
        f" roles = CASE WHEN {_IS_OLDER} THEN u.roles ELSE excluded.roles END,"
        " token_stated_at = greatest(u.token_stated_at, excluded.token_stated_at)"
        f" RETURNING {_READ}",
        [
            identity.org_id,
            proposed := new_id(IdPrefix.USER),
            identity.issuer,
            identity.subject,
            identity.email,
            identity.name,
            sorted(identity.roles),
            stated_at,
        ],
    )
    row = await cursor.fetchone()
    assert row is not None  # noqa: S101 - INSERT … DO UPDATE … RETURNING answers one row
    user = _user(row)
    said = replace(user, email=identity.email, name=identity.name, roles=identity.roles | user.granted)
    return said, row["user_id"] == proposed


async def find_users(connection: Connection, org_id: str, user_ids: Iterable[str]) -> dict[str, User]:
    """Those of these people who exist, by id."""
    cursor = await connection.execute(
        f"SELECT {_READ} FROM users WHERE org_id = %s AND user_id = ANY (%s)",  # noqa: S608 - a constant of this file
        [org_id, list(user_ids)],
    )
    return {row["user_id"]: _user(row) async for row in cursor}


async def get_user(connection: Connection, org_id: str, user_id: str) -> User:
    """Raises NotFoundError."""
    user = (await find_users(connection, org_id, [user_id])).get(user_id)
    if user is None:
        raise NotFoundError(f"there is no user {user_id}")
    return user


async def list_users(
    connection: Connection, org_id: str, *, limit: int, offset: int, exact_total: bool = False
) -> tuple[list[User], BoundedCount]:
    """In the order of their first token, with how many there are."""
    cursor = await connection.execute(
        f"SELECT {_READ} FROM users WHERE org_id = %s ORDER BY user_id LIMIT %s OFFSET %s",  # noqa: S608 - a constant of this file
        [org_id, limit, offset],
    )
    found = [_user(row) for row in await cursor.fetchall()]
    source = sql.SQL("users WHERE org_id = %(org)s")
    return found, await count_rows(connection, source, {"org": org_id}, exact=exact_total)


async def find_users_by_email(connection: Connection, org_id: str, email: str) -> list[User]:
    """Several, where a person signs in through several issuers. Compares as ``mail_addresses.lower_ascii`` does."""
    cursor = await connection.execute(
        f"SELECT {_READ} FROM users WHERE org_id = %s"  # noqa: S608 - a constant of this file
        ' AND lower(email COLLATE "C") = lower(%s COLLATE "C") ORDER BY user_id',
        [org_id, email],
    )
    return [_user(row) for row in await cursor.fetchall()]


async def persons_of(connection: Connection, org_id: str, user_ids: Iterable[str]) -> dict[str, frozenset[str]]:
    """The person behind each of these users, as all users of the same verified address (decision 25).

    People are compared by this wherever one person must not count twice or must be kept apart: a second user of the
    same address is no second person. A user without an address, or an unknown one, is a person of one user.
    """
    asked = list(user_ids)
    cursor = await connection.execute(
        "SELECT asked.user_id, array_agg(same.user_id) AS users FROM users asked JOIN users same"
        ' ON same.org_id = asked.org_id AND lower(same.email COLLATE "C") = lower(asked.email COLLATE "C")'
        " WHERE asked.org_id = %s AND asked.user_id = ANY (%s) GROUP BY asked.user_id",
        [org_id, asked],
    )
    found = {row["user_id"]: frozenset(row["users"]) async for row in cursor}
    return {user_id: found.get(user_id, frozenset({user_id})) for user_id in asked}


async def users_of_emails(connection: Connection, org_id: str, emails: Iterable[str]) -> dict[str, list[str]]:
    """The identifiers of the users with each of these addresses, without those that nobody has."""
    cursor = await connection.execute(
        "SELECT w.email, array_agg(u.user_id ORDER BY u.user_id) AS user_ids FROM unnest(%s::text[]) AS w(email)"
        ' JOIN users u ON lower(u.email COLLATE "C") = lower(w.email COLLATE "C")'
        " WHERE u.org_id = %s GROUP BY w.email",
        [list(emails), org_id],
    )
    return {row["email"]: row["user_ids"] async for row in cursor}


async def set_deactivated(connection: Connection, org_id: str, user_id: str, at: datetime | None) -> None:
    """From ``at`` the person is shut out; None: let in again."""
    await connection.execute(
        "UPDATE users SET deactivated_at = %s WHERE org_id = %s AND user_id = %s", [at, org_id, user_id]
    )


def _user(row: DictRow) -> User:
    return User(
        org_id=row["org_id"],
        user_id=row["user_id"],
        issuer=row["issuer"],
        subject=row["subject"],
        email=row["email"],
        name=row["name"],
        roles=frozenset(Role(role) for role in row["roles"]),
        deactivated_at=row["deactivated_at"],
        granted=frozenset(Role(role) for role in row["granted_roles"]),
        last_seen_at=row["last_seen_at"],
    )


async def get_setting(connection: Connection, org_id: str, name: str) -> Setting | None:
    """The document of now, or None where it was never set."""
    cursor = await connection.execute(
        "SELECT name, version, document, updated_by, updated_at FROM settings WHERE org_id = %s AND name = %s",
        [org_id, name],
    )
    row = await cursor.fetchone()
    return None if row is None else _setting(row)


async def get_settings(connection: Connection, org_id: str, names: Iterable[str]) -> dict[str, Setting]:
    """Those of these that were ever set, by name."""
    cursor = await connection.execute(
        "SELECT name, version, document, updated_by, updated_at FROM settings WHERE org_id = %s AND name = ANY (%s)",
        [org_id, list(names)],
    )
    return {row["name"]: _setting(row) for row in await cursor.fetchall()}


async def put_setting(
    connection: Connection, org_id: str, name: SettingName, document: str, updated_by: str | None
) -> Setting:
    """Store a document as the next version. The caller bumps the generation."""
    cursor = await connection.execute(
        "INSERT INTO settings (org_id, name, document, updated_by) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (org_id, name) DO UPDATE SET version = settings.version + 1, document = excluded.document,"
        " updated_by = excluded.updated_by, updated_at = clock_timestamp()"
        " RETURNING name, version, document, updated_by, updated_at",
        [org_id, name, document, updated_by],
    )
    row = await cursor.fetchone()
    assert row is not None  # noqa: S101 - INSERT … DO UPDATE … RETURNING answers one row
    return _setting(row)


def _setting(row: DictRow) -> Setting:
    return Setting(SettingName(row["name"]), row["version"], row["document"], row["updated_by"], row["updated_at"])
