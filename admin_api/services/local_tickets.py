"""Signing in where there is no provider: an address that this machine's own key signed, good for one session.

``headgate login`` prints it, and ``headgate up`` does at the first start. Looking at the page spends nothing, so that a
preview of the address does not sign anybody in; its button does.
"""

import hashlib
from datetime import UTC, datetime

from admin_api.tokens import TokenVerifier, VerifiedToken
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnauthorizedError
from headgate.kernel.secrets import Secret
from headgate.sessions.store import spend_ticket


class LocalTickets:
    """``tokens`` believes tickets only: their audience is no other token's."""

    def __init__(self, tokens: TokenVerifier, database: Database, clock: Clock) -> None:
        self._tokens = tokens
        self._database = database
        self._clock = clock

    async def look(self, ticket: Secret) -> VerifiedToken:
        """Whom it signs in. Raises UnauthorizedError."""
        return await self._tokens.verify(ticket)

    async def spend(self, ticket: Secret) -> VerifiedToken:
        """Once. Raises UnauthorizedError."""
        verified = await self._tokens.verify(ticket)
        # Its text is its name: it is signed as a whole, and read in its canonical form only.
        name = hashlib.sha256(ticket.reveal().encode()).digest()
        expires_at = datetime.fromtimestamp(verified.expires_at + 60, UTC)
        async with self._database.transaction(verified.identity.org_id) as connection:
            is_first = await spend_ticket(connection, verified.identity.org_id, name, self._clock(), expires_at)
        if not is_first:
            raise UnauthorizedError("this address has signed somebody in already")
        return verified
