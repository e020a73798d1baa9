"""The token issuer that needs no identity provider: an Ed25519 key in the data directory.

Made at the first start, mode 0600 in a directory 0700. Whoever can read the file can be anyone here, as
with the database's own files. Tokens are JWTs (RFC 7519) signed with EdDSA (RFC 8037).
"""

import base64
import hashlib
import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

from headgate.kernel.atomic_file import create_file
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role

LOCAL_ISSUER: Final = "headgate"
AUDIENCE: Final = "headgate"
TICKET_AUDIENCE: Final = "headgate-login"
"""Of tokens that open one browser session and are good for nothing else."""
KEY_FILE: Final = "local-issuer.pem"
STATED_AT_CLAIM: Final = "stated_at"
"""NumericDate (RFC 7519, section 2): when a token first stated what this one repeats of the person. Only of tokens that
were exchanged for another; of every other token, ``iat`` says it."""


class LocalIssuer(Struct, frozen=True):
    """Signs tokens, and gives the public key that checks them."""

    private_key: Ed25519PrivateKey

    @property
    def public_key(self) -> Ed25519PublicKey:
        return self.private_key.public_key()

    @property
    def key_id(self) -> str:
        """Names the key in a token's header: the first 64 bits of the SHA-256 of the public key."""
        raw = self.public_key.public_bytes_raw()
        return base64.urlsafe_b64encode(hashlib.sha256(raw).digest()[:8]).decode().rstrip("=")

    def mint(
        self,
        *,
        org_id: str,
        subject: str,
        roles: Iterable[Role],
        now: datetime,
        lifetime: timedelta,
        email: str | None = None,
        name: str | None = None,
        aal: str = "aal1",
        audience: str = AUDIENCE,
        stated_at: float | None = None,
    ) -> Secret:
        """A token for this person. ``aal``: how they proved themselves (NIST SP 800-63B). ``stated_at``: of the token
        for which this one is exchanged, in seconds since 1970."""
        claims: dict[str, object] = {
            "iss": LOCAL_ISSUER,
            "aud": audience,
            "sub": subject,
            "org_id": org_id,
            "roles": sorted(role.value for role in roles),
            "aal": aal,
            # With its fraction (RFC 7519, section 2): sessions that are closed end at a moment, not at a second.
            "iat": now.timestamp(),
            "jti": os.urandom(12).hex(),
            "exp": int((now + lifetime).timestamp()),
        }
        claims |= {claim: value for claim, value in (("email", email), ("name", name)) if value is not None}
        if stated_at is not None:
            claims[STATED_AT_CLAIM] = stated_at
        if email is not None:
            claims["email_verified"] = True  # whoever can sign here says who is who
        return Secret(jwt.encode(claims, self.private_key, algorithm="EdDSA", headers={"kid": self.key_id}))


def open_local_issuer(directory: Path) -> LocalIssuer:
    """The issuer whose key lies in ``directory``; made if there is none. Raises UnavailableError."""
    path = directory / KEY_FILE
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _create_key(path)
        private_key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError) as error:
        raise UnavailableError(f"the key that signs tokens cannot be read or made: {path}: {error}") from error
    if not isinstance(private_key, Ed25519PrivateKey):
        raise UnavailableError(f"the key that signs tokens is not an Ed25519 key: {path}")
    return LocalIssuer(private_key)


def _create_key(path: Path) -> None:
    """Of two processes at the first start, one key wins whole."""
    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    create_file(path, pem, mode=0o600)
