"""Rows of organizations, people, settings and generations. All of it inside a transaction of the organization."""

from collections.abc import Iterable
from typing import Final

from psycopg.rows import DictRow

from headgate.db.database import Connection
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Organization, Role, Setting, SettingName, TokenIdentity, User

_USER: Final = "org_id, user_id, issuer, subject, email, name, roles"


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


def _generation(row: DictRow | None, org_id: str) -> int:
    if row is None:
        raise NotFoundError(f"there is no organization {org_id}")
    return int(row["generation"])


async def upsert_user(connection: Connection, identity: TokenIdentity) -> tuple[User, bool]:
    """The person whom this token names, with what it says of them now; and whether they are new here."""
    cursor = await connection.execute(
        f"INSERT INTO users ({_USER}) VALUES (%s, %s, %s, %s, %s, %s, %s)"  # noqa: S608 - a constant of this file
        " ON CONFLICT (org_id, issuer, subject) DO UPDATE SET email = excluded.email, name = excluded.name,"
        " roles = excluded.roles, last_seen_at = clock_timestamp()"
        f" RETURNING {_USER}",
        [
            identity.org_id,
            proposed := new_id(IdPrefix.USER),
            identity.issuer,
            identity.subject,
            identity.email,
            identity.name,
            sorted(identity.roles),
        ],
    )
    row = await cursor.fetchone()
    assert row is not None  # noqa: S101 - INSERT … DO UPDATE … RETURNING answers one row
    return _user(row), row["user_id"] == proposed


async def find_users(connection: Connection, org_id: str, user_ids: Iterable[str]) -> dict[str, User]:
    """Those of these people who exist, by id."""
    cursor = await connection.execute(
        f"SELECT {_USER} FROM users WHERE org_id = %s AND user_id = ANY (%s)",  # noqa: S608 - a constant of this file
        [org_id, list(user_ids)],
    )
    return {row["user_id"]: _user(row) async for row in cursor}


def _user(row: DictRow) -> User:
    return User(
        org_id=row["org_id"],
        user_id=row["user_id"],
        issuer=row["issuer"],
        subject=row["subject"],
        email=row["email"],
        name=row["name"],
        roles=frozenset(Role(role) for role in row["roles"]),
    )


async def get_setting(connection: Connection, org_id: str, name: str) -> Setting | None:
    """The document of now, or None where it was never set."""
    cursor = await connection.execute(
        "SELECT name, version, document, updated_by, updated_at FROM settings WHERE org_id = %s AND name = %s",
        [org_id, name],
    )
    row = await cursor.fetchone()
    return None if row is None else _setting(row)


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
