"""What proves that a platform sent something: a MAC over the body's bytes, and a time that is not long ago.

A delivery's own identifier is a header that the MAC does not cover, so that whoever has seen one could send it again
under another: what is remembered is the digest of the signed bytes.
"""

import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Final

from headgate.kernel.errors import UnauthorizedError
from headgate.kernel.secrets import Secret

_AHEAD: Final = timedelta(minutes=5)
"""How far a platform's clock may be ahead of ours."""


def require_mac(secret: Secret, signed: bytes, given: str | None, platform: str) -> None:
    """HMAC-SHA256 (RFC 2104), in hexadecimal. Raises UnauthorizedError."""
    expected = hmac.new(secret.reveal().encode(), signed, hashlib.sha256).hexdigest()
    if given is None or not given.isascii() or not hmac.compare_digest(expected, given.lower()):
        raise UnauthorizedError(f"{platform}'s signature is missing or does not fit")


def require_fresh(seconds: float | None, now: datetime, most: timedelta, platform: str) -> None:
    """``seconds`` since the epoch, as signed. Raises UnauthorizedError."""
    if seconds is None:
        raise UnauthorizedError(f"what {platform} signed says no time")
    age = now.timestamp() - seconds
    if not -_AHEAD.total_seconds() <= age <= most.total_seconds():
        raise UnauthorizedError(f"what {platform} signed is too old, or from the future")


def digest_of(signed: bytes) -> str:
    """By which the same delivery is known again."""
    return "sha256:" + hashlib.sha256(signed).hexdigest()
