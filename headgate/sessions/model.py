"""Sessions and the logins that lead to them. A cookie holds 256 random bits; what they mean is in the database.

Lifetimes follow NIST SP 800-63B-4, section 2.2.3 (AAL2): at most 24 hours in all, at most an hour without activity.
"""

import hashlib
import os
from base64 import urlsafe_b64encode
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from headgate.kernel.secrets import Secret
from headgate.organizations.model import User

_RANDOM_BYTES: Final = 32
SEEN_EVERY: Final = timedelta(minutes=1)
"""How exactly it is known when a session was last used."""


class SessionLimits(Struct, frozen=True):
    """How long a session lasts in all, and how long without a request."""

    lifetime: timedelta = timedelta(hours=12)
    idle: timedelta = timedelta(hours=1)


DEFAULT_LIMITS: Final = SessionLimits()


class Browser(Struct, frozen=True):
    """Where a person sits: the address and what their browser calls itself, as the record keeps them."""

    address: str
    user_agent: str | None


class Session(Struct, frozen=True):
    """One browser of one person. ``ended_at``: somebody ended it; its time may be over without that."""

    org_id: str
    session_id: str
    user_id: str
    aal: str | None
    browser: Browser
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None

    def is_live(self, now: datetime, limits: SessionLimits) -> bool:
        return is_live(self.ended_at, self.expires_at, self.last_seen_at, now, limits)


class SignedIn(Struct, frozen=True):
    """Who a session's cookie is, at the moment at which it was shown."""

    session_id: str
    user: User
    aal: str | None
    expires_at: datetime


class LoginAttempt(Struct, frozen=True):
    """A login that has begun, as the one callback finds it."""

    browser_hash: bytes
    issuer: str
    nonce: str
    code_verifier: str
    return_to: str
    expires_at: datetime
    wanted_organization: str | None = None
    invitation_hash: bytes | None = None


def is_live(
    ended_at: datetime | None, expires_at: datetime, last_seen_at: datetime, now: datetime, limits: SessionLimits
) -> bool:
    return ended_at is None and now < expires_at and now < last_seen_at + limits.idle


def new_secret() -> Secret:
    """256 random bits as text that fits a cookie, an address and a PKCE verifier (RFC 7636, section 4.1)."""
    return Secret(urlsafe_b64encode(os.urandom(_RANDOM_BYTES)).decode().rstrip("="))


def hash_secret(secret: Secret) -> bytes:
    """What the database knows of it; 256 random bits need no slow hash."""
    return hashlib.sha256(secret.reveal().encode(errors="surrogatepass")).digest()
