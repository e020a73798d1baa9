"""Time-based one-time passwords: RFC 6238 with its defaults (SHA-1, 30 seconds) and six digits.

SHA-1 is what the applications understand, and as an HMAC it is not broken by collisions. A step before and a step after
are accepted for clocks that differ (section 5.2); a step is accepted once, whichever code it was used with.
"""

import hmac
import os
from base64 import b32decode, b32encode
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlencode

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from headgate.kernel.secrets import Secret

STEP_SECONDS: Final = 30
DIGITS: Final = 6
_SECRET_BYTES: Final = 20
"""As long as the hash (RFC 4226, section 4, R6: at least 128 bits, 160 recommended)."""
_STEPS_AROUND: Final = (0, -1, 1)


def new_secret() -> Secret:
    """In base32, as authenticators take it."""
    return Secret(b32encode(os.urandom(_SECRET_BYTES)).decode())


def code_at(secret: Secret, step: int) -> str:
    """The six digits of this step."""
    generator = TOTP(_key(secret), DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303 - the module's docstring says why
    return generator.generate(step * STEP_SECONDS).decode()


def step_of(now: datetime) -> int:
    return int(now.timestamp()) // STEP_SECONDS


def matching_step(secret: Secret, code: str, now: datetime, last_step: int | None) -> int | None:
    """The step whose code this is, if it is later than the last one that was used."""
    for around in _STEPS_AROUND:
        step = step_of(now) + around
        if (last_step is None or step > last_step) and hmac.compare_digest(code_at(secret, step), code):
            return step
    return None


def provisioning_uri(secret: Secret, account: str, issuer: str = "Headgate") -> str:
    """What a QR code holds (Google Authenticator's key URI format); it contains the secret."""
    label = f"{quote(issuer, safe='')}:{quote(account, safe='')}"
    asked = {"secret": secret.reveal(), "issuer": issuer, "digits": DIGITS, "period": STEP_SECONDS}
    return f"otpauth://totp/{label}?{urlencode(asked)}"


def _key(secret: Secret) -> bytes:
    return b32decode(secret.reveal())
