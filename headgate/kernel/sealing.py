"""Seals what processes of one installation, or a browser and the gate, leave where others could read it.

AES-256-GCM (NIST SP 800-38D) under a key that is derived from a secret (HKDF, RFC 5869).
"""

import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from headgate.kernel.secrets import Secret

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


def derived_key(secret: Secret, purpose: bytes, *, size_bytes: int = _KEY_BYTES) -> bytes:
    """The same for the same secret and purpose; of one purpose nothing follows for another."""
    return HKDF(SHA256(), size_bytes, salt=None, info=purpose).derive(secret.reveal().encode())


class Seal:
    """``name``: what a text is sealed for; under another name it does not open."""

    __slots__ = ("_cipher",)

    def __init__(self, secret: Secret, purpose: bytes) -> None:
        self._cipher = AESGCM(derived_key(secret, purpose))

    def seal(self, plain: bytes, name: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, name.encode())

    def open(self, sealed: bytes, name: str) -> bytes | None:
        """None: sealed under another secret, purpose or name, or not sealed at all."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], name.encode())
        except (InvalidTag, ValueError):
            return None
