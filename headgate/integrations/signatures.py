"""Verifies that a platform sent a webhook: a MAC over the body's bytes, and a recent time.

The MAC does not cover the header with the delivery's id, so an attacker who captured a webhook could replay it under
another id. Headgate therefore remembers the digest of the signed bytes.
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
        raise UnauthorizedError(f"{platform}'s signature has no time")
    age = now.timestamp() - seconds
    if not -_AHEAD.total_seconds() <= age <= most.total_seconds():
        raise UnauthorizedError(f"{platform}'s signature is too old, or its time is in the future")


def digest_of(signed: bytes) -> str:
    """Identifies a repeated delivery."""
    return "sha256:" + hashlib.sha256(signed).hexdigest()
