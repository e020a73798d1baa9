"""Opening and ending sessions, on record: who, from which address, and why a session ended.

A transaction is the caller's where one is passed: these functions only take part in it.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from headgate.audit.model import SYSTEM, Actor, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock, rfc3339
from headgate.kernel.errors import UnauthorizedError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.organizations.model import User
from headgate.organizations.service import user_actor
from headgate.organizations.store import find_organization
from headgate.sessions.model import SEEN_EVERY, Browser, Session, SessionLimits, SignedIn, hash_secret, new_secret
from headgate.sessions.store import end_sessions, find_signed_in, insert_session, renew_secret, touch_session


class EndReason(StrEnum):
    LOGOUT = "logout"
    REPLACED = "replaced"
    REVOKED = "revoked"
    PROVIDER = "provider"
    """The provider said that the session there is over."""


class OpenedSession(Struct, frozen=True):
    """A session at the one moment at which its secret is known."""

    session: Session
    secret: Secret


async def open_session(
    connection: Connection, user: User, *, aal: str | None, browser: Browser, now: datetime, limits: SessionLimits
) -> OpenedSession:
    """A new secret each time: what a browser showed before is never taken over (OWASP, "Session Fixation")."""
    secret = new_secret()
    session = Session(
        org_id=user.org_id,
        session_id=new_id(IdPrefix.SESSION),
        user_id=user.user_id,
        aal=aal,
        browser=browser,
        created_at=now,
        last_seen_at=now,
        expires_at=now + limits.lifetime,
    )
    await insert_session(connection, session, hash_secret(secret))
    told: JsonObject = {
        "session_id": session.session_id,
        "user_id": user.user_id,
        "issuer": user.issuer,
        "aal": aal,
        "address": browser.address,
        "user_agent": browser.user_agent,
        "expires_at": rfc3339(session.expires_at),
    }
    actor = replace(user_actor(user), address=browser.address)
    await append(connection, user.org_id, [Event(EventType.LOGIN_SUCCEEDED, now, actor, told)])
    return OpenedSession(session, secret)


async def signed_in(database: Database, secret: Secret, *, clock: Clock, limits: SessionLimits) -> SignedIn:
    """Who shows this cookie: asked each time, so that a session that was ended is ended now.

    Raises UnauthorizedError, UnavailableError.
    """
    now = clock()
    async with database.across_organizations() as connection:
        found = await find_signed_in(connection, hash_secret(secret), now, limits)
    if found is None:
        raise UnauthorizedError("This session has ended. Sign in again at /auth/login.")
    who, last_seen_at = found
    if now - last_seen_at >= SEEN_EVERY:
        async with database.transaction(who.user.org_id) as connection:
            await touch_session(connection, who.user.org_id, who.session_id, now)
    return who


async def raise_session(connection: Connection, org_id: str, session_id: str, *, aal: str, now: datetime) -> Secret:
    """Its new secret, at its new level: a cookie that was taken before proves no second factor (OWASP, "Renew the
    Session ID After Any Privilege Level Change"). A provider's hint, sealed with the old secret, is lost.

    Raises UnauthorizedError.
    """
    secret = new_secret()
    if not await renew_secret(connection, org_id, session_id, hash_secret(secret), aal, now):
        raise UnauthorizedError("This session has ended. Sign in again at /auth/login.")
    return secret


async def close_sessions(
    connection: Connection,
    actor: Actor,
    org_id: str,
    user_id: str,
    *,
    at: datetime,
    reason: EndReason,
    address: str | None = None,
    only: str | None = None,
    but: str | None = None,
) -> list[str]:
    """End a person's sessions, on record: all, one, or all but one. Answers those that were ended by this."""
    ended = await end_sessions(connection, org_id, user_id, at, only=only, but=but)
    await append(
        connection,
        org_id,
        [
            Event(
                EventType.SESSION_ENDED,
                at,
                actor,
                {"session_id": one, "user_id": user_id, "reason": reason.value, "address": address},
            )
            for one in ended
        ],
    )
    return list(ended)


async def record_failed_login(
    database: Database, org_id: str, *, issuer: str, subject: str, why: str, browser: Browser, at: datetime
) -> None:
    """Somebody whom their provider knows was not let in. Nothing where there is no such organization."""
    async with database.transaction(org_id) as connection:
        if await find_organization(connection, org_id) is None:
            return
        told: JsonObject = {
            "issuer": issuer,
            "subject": subject,
            "reason": why,
            "address": browser.address,
            "user_agent": browser.user_agent,
        }
        await append(connection, org_id, [Event(EventType.LOGIN_FAILED, at, SYSTEM, told)])
