"""Closing a person's other sessions at Headgate: their tokens from before are refused, but for the one that asked.

A token needs no session here, so what is closed is everything that was issued earlier (the claim ``iat``). An issuer
that counts whole seconds leaves a token of the very second undecided: it counts as later, as the sign-in that follows a
recovery would otherwise be refused; Headgate's own tokens tell the millisecond. Every process asks the database, and
remembers the answer for less than a second. Whether the person was deactivated is asked at the same time.

What goes on of a person's sessions, because it asked for the others to be closed, has proved a first factor from then
on and no more: sessions are closed when second factors change, and the one that it had proved may be gone.
"""

import hashlib
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, Protocol

from msgspec import Struct

from headgate.db.database import Connection, Database
from headgate.kernel.errors import UnauthorizedError
from headgate.kernel.secrets import Secret
from headgate.mfa.model import Person
from headgate.organizations.service import require_active
from headgate.sessions.service import EndReason, close_sessions
from headgate.sessions.store import fall_back

_REMEMBERED_SECONDS: Final = 0.5
_MOST_REMEMBERED: Final = 10_000


class SessionCloser(Protocol):
    """Whatever keeps sessions of people closes this person's, but the one that asked, in this transaction."""

    async def __call__(self, connection: Connection, person: Person, at: datetime) -> None: ...


class Closure(Struct, frozen=True):
    issued_before: datetime
    kept_token: bytes | None

    def keeps(self, token: Secret) -> bool:
        return self.kept_token is not None and token_digest(token) == self.kept_token

    def refuses(self, issued_at: float | None, token: Secret) -> bool:
        """A token that does not say when it was issued is not known to be newer."""
        if self.keeps(token):
            return False
        if issued_at is None:
            return True
        closed_at = self.issued_before.timestamp()
        return issued_at < (closed_at if issued_at % 1 else int(closed_at))


def token_digest(token: Secret) -> bytes:
    return hashlib.sha256(token.reveal().encode()).digest()


async def close_tokens(connection: Connection, person: Person, at: datetime) -> None:
    """All that were issued before ``at``, but for the one that asks."""
    kept = None if person.token is None else token_digest(person.token)
    await close_tokens_of(connection, person.org_id, person.user_id, at, kept=kept)


async def close_tokens_of(
    connection: Connection, org_id: str, user_id: str, at: datetime, *, kept: bytes | None = None
) -> None:
    """All of this person that were issued before ``at``; ``kept``: the digest of one that goes on."""
    await connection.execute(
        "INSERT INTO closed_sessions (org_id, user_id, issued_before, kept_token) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (org_id, user_id) DO UPDATE SET issued_before = excluded.issued_before,"
        " kept_token = excluded.kept_token",
        [org_id, user_id, at, kept],
    )


async def close_browsers(connection: Connection, person: Person, at: datetime) -> None:
    """The sessions that a cookie stands for."""
    if person.browser_session_id is not None:
        await fall_back(connection, person.org_id, person.browser_session_id)
    await close_sessions(
        connection,
        person.actor,
        person.org_id,
        person.user_id,
        at=at,
        reason=EndReason.REVOKED,
        but=person.browser_session_id,
    )


EVERYWHERE: Final[tuple[SessionCloser, ...]] = (close_tokens, close_browsers)


async def close_everywhere(
    closers: Iterable[SessionCloser], connection: Connection, person: Person, at: datetime
) -> None:
    for close in closers:
        await close(connection, person, at)


class ClosedSessions:
    """Asked with every token."""

    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._known: dict[tuple[str, str], tuple[Closure | None, float]] = {}

    async def require_open(self, org_id: str, user_id: str, issued_at: float | None, token: Secret) -> bool:
        """Whether it is the one that went on when the others were closed: with a first factor alone.

        Raises UnauthorizedError, ForbiddenError (the person was deactivated), UnavailableError.
        """
        closure = await self._closure(org_id, user_id)
        if closure is None:
            return False
        if closure.refuses(issued_at, token):
            raise UnauthorizedError("This session has ended. Sign in again.")
        return closure.keeps(token)

    async def _closure(self, org_id: str, user_id: str) -> Closure | None:
        known = self._known.get((org_id, user_id))
        if known is not None and self._monotonic() < known[1]:
            return known[0]
        async with self._database.transaction(org_id) as connection:
            cursor = await connection.execute(
                "SELECT u.deactivated_at, c.issued_before, c.kept_token FROM users u LEFT JOIN closed_sessions c"
                " ON c.org_id = u.org_id AND c.user_id = u.user_id WHERE u.org_id = %s AND u.user_id = %s",
                [org_id, user_id],
            )
            row = await cursor.fetchone()
        if row is not None:
            # Not remembered: whoever is let in again is in at once.
            require_active(user_id, row["deactivated_at"])
        closure = None
        if row is not None and row["issued_before"] is not None:
            closure = Closure(row["issued_before"], row["kept_token"])
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        self._known[org_id, user_id] = (closure, self._monotonic() + _REMEMBERED_SECONDS)
        return closure
