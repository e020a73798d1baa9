"""An address that signs one person in with a browser, once: for an instance without an identity provider."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from headgate.kernel.secrets import Secret
from headgate.organizations.local_issuer import TICKET_AUDIENCE, LocalIssuer
from headgate.organizations.model import Role

FIRST_ADMINISTRATOR: Final = "administrator"
"""The user whom a new instance begins with."""


def sign_in_address(
    issuer: LocalIssuer,
    api_url: str,
    *,
    org_id: str,
    user: str,
    roles: Iterable[Role],
    now: datetime,
    lifetime: timedelta,
) -> Secret:
    """Whoever opens it is that person. What is at the end of it is no token for anything else: its audience is its
    own. One factor was shown: access to this machine."""
    ticket = issuer.mint(
        org_id=org_id,
        subject=user,
        roles=roles,
        now=now,
        lifetime=lifetime,
        email=user if "@" in user else None,
        name=None if "@" in user else user,
        audience=TICKET_AUDIENCE,
    )
    return Secret(f"{api_url}/auth/local/{ticket.reveal()}")
