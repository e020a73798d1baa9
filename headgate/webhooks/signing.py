"""Signatures of the Standard Webhooks specification (https://www.standardwebhooks.com, 1.0): symmetric, ``v1``.

Signed is ``id.timestamp.body`` with HMAC-SHA256; the header lists a signature for each secret in use, separated by a
space, so that a receiver may change secrets while two are valid.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from headgate.kernel.secrets import Secret

_PREFIX: Final = "whsec_"
_SECRET_BYTES: Final = 32


def new_secret() -> Secret:
    """Of 256 bits; the specification asks for 24 to 64 bytes."""
    return Secret(_PREFIX + base64.b64encode(os.urandom(_SECRET_BYTES)).decode())


def signature(secret: Secret, message_id: str, timestamp: int, body: bytes) -> str:
    key = base64.b64decode(secret.reveal().removeprefix(_PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def headers(secrets: Sequence[Secret], message_id: str, at: datetime, body: bytes) -> tuple[tuple[str, str], ...]:
    """``at`` is the time of this attempt, which a receiver compares with its own clock."""
    timestamp = int(at.timestamp())
    signatures = " ".join(signature(secret, message_id, timestamp, body) for secret in secrets)
    return (
        ("webhook-id", message_id),
        ("webhook-timestamp", str(timestamp)),
        ("webhook-signature", signatures),
    )
