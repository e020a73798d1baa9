"""Rows of sessions and of logins that have begun."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from psycopg.rows import DictRow

from headgate.db.database import Connection
from headgate.organizations.model import Role, User
from headgate.sessions.model import Browser, LoginAttempt, Session, SessionLimits, SignedIn, is_live

_COLUMNS: Final = (
    "org_id, session_id, user_id, aal, address, user_agent, created_at, last_seen_at, expires_at, ended_at"
)
_KEPT: Final = timedelta(days=30)


async def begin_login(connection: Connection, state_hash: bytes, attempt: LoginAttempt) -> None:
    await connection.execute(
        "SELECT begin_login(%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            state_hash,
            attempt.browser_hash,
            attempt.issuer,
            attempt.nonce,
            attempt.code_verifier,
            attempt.return_to,
            attempt.wanted_organization,
            attempt.invitation_hash,
            attempt.expires_at,
        ],
    )


async def take_login(connection: Connection, state_hash: bytes) -> LoginAttempt | None:
    """The login that this state began, which nobody finds again. None: none, or somebody was here before."""
    cursor = await connection.execute("SELECT * FROM take_login(%s)", [state_hash])
    row = await cursor.fetchone()
    if row is None:
        return None
    return LoginAttempt(
        browser_hash=bytes(row["browser_hash"]),
        issuer=row["issuer"],
        nonce=row["nonce"],
        code_verifier=row["code_verifier"],
        return_to=row["return_to"],
        expires_at=row["expires_at"],
        wanted_organization=row["org_id_wanted"],
        invitation_hash=None if row["invitation"] is None else bytes(row["invitation"]),
    )


async def spend_ticket(
    connection: Connection, org_id: str, ticket_hash: bytes, now: datetime, expires_at: datetime
) -> bool:
    """False: it was spent before."""
    await connection.execute("DELETE FROM spent_tickets WHERE org_id = %s AND expires_at <= %s", [org_id, now])
    inserted = await connection.execute(
        "INSERT INTO spent_tickets (org_id, ticket_hash, expires_at) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        [org_id, ticket_hash, expires_at],
    )
    return inserted.rowcount == 1


async def is_ticket_spent(connection: Connection, org_id: str, ticket_hash: bytes) -> bool:
    cursor = await connection.execute(
        "SELECT EXISTS (SELECT FROM spent_tickets WHERE org_id = %s AND ticket_hash = %s) AS spent",
        [org_id, ticket_hash],
    )
    row = await cursor.fetchone()
    return row is not None and bool(row["spent"])


async def insert_session(connection: Connection, session: Session, token_hash: bytes) -> None:
    """A person's sessions of long ago go at the same time."""
    await connection.execute(
        "DELETE FROM sessions WHERE org_id = %s AND user_id = %s AND least(ended_at, expires_at) < %s",
        [session.org_id, session.user_id, session.created_at - _KEPT],
    )
    await connection.execute(
        f"INSERT INTO sessions ({_COLUMNS}, token_hash)"  # noqa: S608 - a constant of this file
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            session.org_id,
            session.session_id,
            session.user_id,
            session.aal,
            session.browser.address,
            session.browser.user_agent,
            session.created_at,
            session.last_seen_at,
            session.expires_at,
            session.ended_at,
            token_hash,
        ],
    )


async def has_session(connection: Connection, org_id: str) -> bool:
    """Whether any person of the organization has ever signed in: a person's newest session is never deleted."""
    cursor = await connection.execute("SELECT EXISTS (SELECT FROM sessions WHERE org_id = %s) AS found", [org_id])
    row = await cursor.fetchone()
    return row is not None and bool(row["found"])


async def find_signed_in(
    connection: Connection, token_hash: bytes, now: datetime, limits: SessionLimits
) -> tuple[SignedIn, datetime] | None:
    """Who this cookie is, and when it was last seen; None: nobody, any more. Across organizations."""
    cursor = await connection.execute("SELECT * FROM session_by_hash(%s)", [token_hash])
    row = await cursor.fetchone()
    if row is None or row["deactivated_at"] is not None:
        return None
    if not is_live(row["ended_at"], row["expires_at"], row["last_seen_at"], now, limits):
        return None
    user = User(
        org_id=row["org_id"],
        user_id=row["user_id"],
        issuer=row["issuer"],
        subject=row["subject"],
        email=row["email"],
        name=row["name"],
        roles=frozenset(Role(role) for role in row["roles"]),
    )
    return SignedIn(row["session_id"], user, row["aal"], row["expires_at"]), row["last_seen_at"]


async def fall_back(connection: Connection, org_id: str, session_id: str) -> None:
    """What it had proved of a second factor is over (NIST SP 800-63B-4: AAL1)."""
    await connection.execute(
        "UPDATE sessions SET aal = 'aal1' WHERE org_id = %s AND session_id = %s", [org_id, session_id]
    )


async def renew_secret(
    connection: Connection, org_id: str, session_id: str, token_hash: bytes, aal: str, now: datetime
) -> bool:
    """False: the session has ended."""
    renewed = await connection.execute(
        "UPDATE sessions SET token_hash = %s, aal = %s"
        " WHERE org_id = %s AND session_id = %s AND ended_at IS NULL AND expires_at > %s",
        [token_hash, aal, org_id, session_id, now],
    )
    return renewed.rowcount == 1


async def touch_session(connection: Connection, org_id: str, session_id: str, at: datetime) -> None:
    await connection.execute(
        "UPDATE sessions SET last_seen_at = %s WHERE org_id = %s AND session_id = %s AND last_seen_at < %s",
        [at, org_id, session_id, at],
    )


async def live_sessions(
    connection: Connection, org_id: str, user_id: str, now: datetime, limits: SessionLimits
) -> list[Session]:
    """Newest first."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM sessions WHERE org_id = %s AND user_id = %s AND ended_at IS NULL"  # noqa: S608 - a constant of this file
        " AND expires_at > %s AND last_seen_at > %s ORDER BY session_id DESC",
        [org_id, user_id, now, now - limits.idle],
    )
    return [_session(row) async for row in cursor]


async def end_sessions(
    connection: Connection, org_id: str, user_id: str, at: datetime, *, only: str | None = None, but: str | None = None
) -> Sequence[str]:
    """End a person's sessions: all, one, or all but one. Answers those that were ended by this."""
    cursor = await connection.execute(
        "UPDATE sessions SET ended_at = %(at)s WHERE org_id = %(org)s AND user_id = %(user)s AND ended_at IS NULL"
        " AND expires_at > %(at)s AND (%(only)s::text IS NULL OR session_id = %(only)s)"
        " AND (%(but)s::text IS NULL OR session_id <> %(but)s) RETURNING session_id",
        {"at": at, "org": org_id, "user": user_id, "only": only, "but": but},
    )
    return sorted([row["session_id"] async for row in cursor])


def _session(row: DictRow) -> Session:
    return Session(
        org_id=row["org_id"],
        session_id=row["session_id"],
        user_id=row["user_id"],
        aal=row["aal"],
        browser=Browser(row["address"], row["user_agent"]),
        created_at=row["created_at"],
        last_seen_at=row["last_seen_at"],
        expires_at=row["expires_at"],
        ended_at=row["ended_at"],
    )


async def end_all_sign_ins(connection: Connection, org_id: str, at: datetime) -> int:
    """All sessions and open invitations, and all tokens that were issued before; returns how many sessions. For the
    owner's role only."""
    ended = await connection.execute(
        "UPDATE sessions SET ended_at = %s WHERE org_id = %s AND ended_at IS NULL", [at, org_id]
    )
    await connection.execute(
        "UPDATE invitations SET revoked_at = %s WHERE org_id = %s AND accepted_at IS NULL AND revoked_at IS NULL",
        [at, org_id],
    )
    await connection.execute(
        "INSERT INTO closed_sessions (org_id, user_id, issued_before) SELECT u.org_id, u.user_id, %s FROM users u"
        " WHERE u.org_id = %s ON CONFLICT (org_id, user_id)"
        " DO UPDATE SET issued_before = excluded.issued_before, kept_token = NULL",
        [at, org_id],
    )
    return ended.rowcount
