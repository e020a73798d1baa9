"""A provider's word that a session there is over, and what ends here because of it."""

from itertools import groupby
from typing import Final
from urllib.parse import parse_qs

from admin_api.dependencies import Dependencies
from headgate.audit.model import SYSTEM
from headgate.kernel.errors import NotFoundError, UnauthorizedError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.sessions.provider_store import sessions_at_provider
from headgate.sessions.service import EndReason, close_sessions

_MOST_FIELDS: Final = 10


async def end_sessions_of_provider(dependencies: Dependencies, body: bytes) -> None:
    """Raises NotFoundError, UnavailableError, and ValidationError where the token is not acceptable: what is asked
    for then is not done, and the provider is told so by 400 (OpenID Connect Back-Channel Logout 1.0, section 2.8)."""
    login = dependencies.browser_login
    if login is None or not login.providers:
        raise NotFoundError("No identity provider is configured.")
    clients = {issuer: provider.client.client_id for issuer, provider in login.providers.items()}
    try:
        over = await login.tokens.verify_logout(_token(body), clients)
    except UnauthorizedError as error:
        raise ValidationError(error.message, details={"field": "logout_token"}) from error
    async with dependencies.database.across_organizations() as connection:
        found = await sessions_at_provider(
            connection, over.issuer, subject=over.subject, sid=over.sid, until=over.until
        )
    for org_id, sessions in groupby(found, key=lambda one: one.org_id):
        async with dependencies.database.transaction(org_id) as connection:
            for one in sessions:
                await close_sessions(
                    connection,
                    SYSTEM,
                    org_id,
                    one.user_id,
                    at=dependencies.clock(),
                    reason=EndReason.PROVIDER,
                    only=one.session_id,
                )


def _token(body: bytes) -> Secret:
    """Raises ValidationError."""
    try:
        (token,) = parse_qs(body.decode("ascii"), max_num_fields=_MOST_FIELDS)["logout_token"]
    except (ValueError, KeyError) as error:
        raise ValidationError("send one logout_token, as a form", details={"field": "logout_token"}) from error
    return Secret(token)
