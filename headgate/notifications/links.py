"""Signed links to an approval's page, for a short time and one recipient.

A link that names a person lets its bearer vote as that person on that approval; a link that names a channel is
read-only. Opening a link decides nothing, because mail scanners open links too (semantics.md, "Tenancy and roles").
"""

import base64
import binascii
import hashlib
import hmac
import os
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import canonical_bytes, parse_strict
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.kernel.secrets import Secret

KEY_NAME: Final = "notification_links"
"""The vault name of an organization's signing key."""
_CONTEXT: Final = b"headgate.link.1."
_MOST: Final = 1000


class Link(Struct, frozen=True):
    """``user_id`` None: a channel's link, which is read-only."""

    org_id: str
    approval_id: str
    channel: str
    user_id: str | None
    expires_at: datetime


def new_key() -> Secret:
    return Secret(base64.b64encode(os.urandom(32)).decode())


def sign(link: Link, key: Secret) -> str:
    """The token: the last part of the link."""
    claims = canonical_bytes(
        {
            "a": link.approval_id,
            "c": link.channel,
            "e": int(link.expires_at.timestamp()),
            "o": link.org_id,
            "u": link.user_id,
        }
    )
    return f"{_encode(claims)}.{_encode(_mac(claims, key))}"


def claimed(token: str) -> Link:
    """Reads a token without verifying it, to find the organization whose key verifies it. Raises NotFoundError."""
    try:
        if len(token) > _MOST:
            raise ValueError("too long")
        document = parse_strict(_decode(token.partition(".")[0]))
        if not isinstance(document, dict):
            raise ValueError("not an object")
        expires = document["e"]
        texts = [document[name] for name in ("o", "a", "c")]
        user_id = document["u"]
        if not isinstance(expires, int) or not all(isinstance(one, str) for one in texts):
            raise ValueError("not its form")
        if user_id is not None and not isinstance(user_id, str):
            raise ValueError("not its form")
        if "\0" in str(texts[0]):
            raise ValueError("no organization has this name")
        return Link(str(texts[0]), str(texts[1]), str(texts[2]), user_id, datetime.fromtimestamp(expires, UTC))
    except (ValueError, KeyError, OverflowError, OSError, ValidationError) as error:
        raise _unknown() from error


def verify(token: str, key: Secret) -> Link:
    """Raises NotFoundError if this key did not sign the token. The caller checks the expiry."""
    body, _, mac = token.partition(".")
    try:
        claims, given = _decode(body), _decode(mac)
    except ValueError as error:
        raise _unknown() from error
    if not hmac.compare_digest(given, _mac(claims, key)):
        raise _unknown()
    return claimed(token)


def _mac(claims: bytes, key: Secret) -> bytes:
    return hmac.new(key.reveal().encode(), _CONTEXT + claims, hashlib.sha256).digest()


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeError) as error:
        raise ValueError("not base64url") from error


def _unknown() -> NotFoundError:
    return NotFoundError("no such link")
