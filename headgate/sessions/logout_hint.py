"""The ID token of a session, kept for the one moment at which its provider is told that the session is over
(OpenID Connect RP-Initiated Logout 1.0, section 2, ``id_token_hint``).

It says who somebody is, and until it expires somebody may believe it: so it is sealed with the session's own secret,
which only the browser has (AES-256-GCM under a key of HKDF, RFC 5869). Whoever reads the database reads none.
"""

import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from headgate.kernel.secrets import Secret

_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_PURPOSE: Final = b"headgate.logout_hint.1"


def seal_hint(id_token: Secret, session_secret: Secret, session_id: str) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + _cipher(session_secret).encrypt(nonce, id_token.reveal().encode(), session_id.encode())


def open_hint(sealed: bytes, session_secret: Secret, session_id: str) -> Secret | None:
    """None: it is not this session's."""
    nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    try:
        return Secret(_cipher(session_secret).decrypt(nonce, ciphertext, session_id.encode()).decode())
    except (InvalidTag, ValueError):
        return None


def _cipher(session_secret: Secret) -> AESGCM:
    key = HKDF(SHA256(), _KEY_BYTES, salt=None, info=_PURPOSE).derive(session_secret.reveal().encode())
    return AESGCM(key)
