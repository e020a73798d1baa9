"""Sign-in links where there is no provider: this machine's own key signs a link, which opens one session.

``headgate login`` prints one, and ``headgate up`` does on each start until somebody has signed in. GET does not spend
the link: chats and mail scanners open links to show a preview, and would sign in instead of the person. The button of
its page does.
"""

import hashlib
from datetime import UTC, datetime
from typing import Final

from admin_api.tokens import TokenVerifier, VerifiedToken
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ExpiredError, UnauthorizedError
from headgate.kernel.secrets import Secret
from headgate.sessions.store import is_ticket_spent, spend_ticket

_USED: Final = "This sign-in link was already used. It works once."


class LocalTickets:
    """``tokens`` believes tickets only: their audience is no other token's."""

    def __init__(self, tokens: TokenVerifier, database: Database, clock: Clock) -> None:
        self._tokens = tokens
        self._database = database
        self._clock = clock

    async def look(self, ticket: Secret) -> VerifiedToken:
        """Whom it signs in. Raises UnauthorizedError: used, expired, or never ours."""
        verified = await self._verified(ticket)
        async with self._database.transaction(verified.identity.org_id) as connection:
            if await is_ticket_spent(connection, verified.identity.org_id, _name(ticket)):
                raise UnauthorizedError(_USED)
        return verified

    async def spend(self, ticket: Secret) -> VerifiedToken:
        """Once. Raises UnauthorizedError."""
        verified = await self._verified(ticket)
        expires_at = datetime.fromtimestamp(verified.expires_at + 60, UTC)
        async with self._database.transaction(verified.identity.org_id) as connection:
            is_first = await spend_ticket(
                connection, verified.identity.org_id, _name(ticket), self._clock(), expires_at
            )
        if not is_first:
            raise UnauthorizedError(_USED)
        return verified

    async def _verified(self, ticket: Secret) -> VerifiedToken:
        try:
            return await self._tokens.verify(ticket)
        except ExpiredError as error:
            raise ExpiredError("This sign-in link has expired.") from error
        except UnauthorizedError as error:
            raise UnauthorizedError(
                "This sign-in link is not valid: it is incomplete, or another instance created it."
            ) from error


def _name(ticket: Secret) -> bytes:
    """Its text is its name: it is signed as a whole, and read in its canonical form only."""
    return hashlib.sha256(ticket.reveal().encode(errors="surrogatepass")).digest()
