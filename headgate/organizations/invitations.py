"""Inviting a person into an organization: by an address that is good once, for whoever proves the invited e-mail."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.db.bounded_count import BoundedCount, count_rows
from headgate.db.database import Connection
from headgate.organizations.model import Role

_COLUMNS: Final = (
    "org_id, invitation_id, email, roles, created_by, created_at, expires_at, accepted_at, accepted_by, revoked_at"
)


class InvitationStatus(StrEnum):
    OPEN = "open"
    ACCEPTED = "accepted"
    REVOKED = "revoked"
    EXPIRED = "expired"


class Invitation(Struct, frozen=True):
    org_id: str
    invitation_id: str
    email: str
    roles: frozenset[Role]
    created_by: str | None
    created_at: datetime
    expires_at: datetime
    accepted_at: datetime | None = None
    accepted_by: str | None = None
    revoked_at: datetime | None = None

    def status(self, now: datetime) -> InvitationStatus:
        if self.accepted_at is not None:
            return InvitationStatus.ACCEPTED
        if self.revoked_at is not None:
            return InvitationStatus.REVOKED
        return InvitationStatus.EXPIRED if self.expires_at <= now else InvitationStatus.OPEN


async def insert_invitation(connection: Connection, invitation: Invitation, secret_hash: bytes) -> None:
    await connection.execute(
        f"INSERT INTO invitations ({_COLUMNS}, secret_hash) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",  # noqa: S608 - a constant of this file
        [
            invitation.org_id,
            invitation.invitation_id,
            invitation.email,
            sorted(invitation.roles),
            invitation.created_by,
            invitation.created_at,
            invitation.expires_at,
            invitation.accepted_at,
            invitation.accepted_by,
            invitation.revoked_at,
            secret_hash,
        ],
    )


async def list_invitations(
    connection: Connection, org_id: str, *, limit: int, offset: int, exact_total: bool = False
) -> tuple[list[Invitation], BoundedCount]:
    """Newest first, with how many there are."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM invitations WHERE org_id = %s ORDER BY invitation_id DESC LIMIT %s OFFSET %s",  # noqa: S608 - a constant of this file
        [org_id, limit, offset],
    )
    found = [_invitation(row) for row in await cursor.fetchall()]
    source = sql.SQL("invitations WHERE org_id = %(org)s")
    return found, await count_rows(connection, source, {"org": org_id}, exact=exact_total)


async def open_invitations_of(connection: Connection, org_id: str, user_id: str, now: datetime) -> list[str]:
    """The ids of those that this person made and nobody has accepted."""
    cursor = await connection.execute(
        "SELECT invitation_id FROM invitations WHERE org_id = %s AND created_by = %s AND accepted_at IS NULL"
        " AND revoked_at IS NULL AND expires_at > %s ORDER BY invitation_id",
        [org_id, user_id, now],
    )
    return [row["invitation_id"] async for row in cursor]


async def find_invitation(
    connection: Connection, org_id: str, invitation_id: str, *, lock: bool = True
) -> Invitation | None:
    """Locked: accepting and revoking come one after the other."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM invitations WHERE org_id = %s AND invitation_id = %s"  # noqa: S608 - a constant of this file
        + (" FOR UPDATE" if lock else ""),
        [org_id, invitation_id],
    )
    row = await cursor.fetchone()
    return None if row is None else _invitation(row)


async def locate_invitation(connection: Connection, secret_hash: bytes) -> tuple[str, str] | None:
    """Organization and id of the invitation with this secret, over all organizations."""
    cursor = await connection.execute("SELECT * FROM invitation_by_hash(%s)", [secret_hash])
    row = await cursor.fetchone()
    return None if row is None else (row["org_id"], row["invitation_id"])


async def close_invitation(
    connection: Connection, org_id: str, invitation_id: str, at: datetime, *, accepted_by: str | None
) -> None:
    """Accepted by this person; None: revoked."""
    await connection.execute(
        "UPDATE invitations SET accepted_at = CASE WHEN %(by)s::text IS NULL THEN NULL ELSE %(at)s END,"
        " accepted_by = %(by)s, revoked_at = CASE WHEN %(by)s::text IS NULL THEN %(at)s END"
        " WHERE org_id = %(org)s AND invitation_id = %(id)s",
        {"at": at, "by": accepted_by, "org": org_id, "id": invitation_id},
    )


def _invitation(row: DictRow) -> Invitation:
    return Invitation(
        org_id=row["org_id"],
        invitation_id=row["invitation_id"],
        email=row["email"],
        roles=frozenset(Role(role) for role in row["roles"]),
        created_by=row["created_by"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        accepted_at=row["accepted_at"],
        accepted_by=row["accepted_by"],
        revoked_at=row["revoked_at"],
    )
