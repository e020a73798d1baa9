"""What a provider says when a session there is over: OpenID Connect Back-Channel Logout 1.0, sections 2.4 and 2.6.

A logout token is no ID token: it names the event, and has no nonce, so that neither passes for the other.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from admin_api.claims import instant_of, text_of
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import UnauthorizedError

_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"
_LEEWAY: Final = timedelta(seconds=30)
"""Clocks differ, and times of tokens are whole seconds."""
_MOST_AGE: Final = timedelta(minutes=10)
"""A token is sent when it is made. One that is shown long afterwards was kept by somebody."""


class EndedAtProvider(Struct, frozen=True):
    """Whose sessions are over: a person's (``subject``), those out of one session there (``sid``), or both at once.
    ``until``: a session that was opened later is another, whoever shows the token once more."""

    issuer: str
    subject: str | None
    sid: str | None
    until: datetime


def ended_at_provider(claims: JsonObject, issuer: str, now: datetime) -> EndedAtProvider:
    """Of a token that is authentic, for us, and not over. Raises UnauthorizedError."""
    events = claims.get("events")
    if not isinstance(events, dict) or not isinstance(events.get(_EVENT), dict):
        raise UnauthorizedError("not a logout token (events)")
    if "nonce" in claims:
        raise UnauthorizedError("an ID token, not a logout token (nonce)")
    issued_at = instant_of(claims, "iat")
    if issued_at is None or issued_at < (now - _MOST_AGE).timestamp():
        raise UnauthorizedError("the logout token is too old or has no time of issue (iat)")
    subject, sid = text_of(claims, "sub"), text_of(claims, "sid")
    if not subject and not sid:
        raise UnauthorizedError("the logout token names neither a person nor a session (sub, sid)")
    return EndedAtProvider(issuer, subject or None, sid or None, datetime.fromtimestamp(issued_at, UTC) + _LEEWAY)
