"""Envelope encryption: each secret under a data key of its own, each data key under a master key.

AES-256-GCM (NIST SP 800-38D) with random 96-bit nonces; a data key encrypts once, so that none repeats. Organization,
name and master key are authenticated with both ciphertexts: a row that is copied to another organization, or to
another name, does not open. Changing the master key rewraps the data keys and touches no secret.
"""

import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Struct

from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.vault.master_keys import MasterKeys

_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32


class Envelope(Struct, frozen=True):
    """``key_id`` names the master key; both others are a nonce and what was encrypted with it."""

    key_id: str
    wrapped_key: bytes
    ciphertext: bytes


def seal(secret: Secret, keys: MasterKeys, *, org_id: str, name: str) -> Envelope:
    """Under the current master key."""
    return seal_bytes(secret.reveal().encode(), keys, org_id=org_id, name=name)


def seal_bytes(plain: bytes, keys: MasterKeys, *, org_id: str, name: str) -> Envelope:
    """As ``seal``, for what is no text."""
    data_key = os.urandom(_KEY_BYTES)
    key_id = keys.current
    return Envelope(
        key_id,
        _encrypt(keys.key(key_id), data_key, _context("key", org_id, name, key_id)),
        _encrypt(data_key, plain, _context("secret", org_id, name, "")),
    )


def unseal(envelope: Envelope, keys: MasterKeys, *, org_id: str, name: str) -> Secret:
    """Raises UnavailableError: the master key is not here, or the row was tampered with."""
    return Secret(unseal_bytes(envelope, keys, org_id=org_id, name=name).decode())


def unseal_bytes(envelope: Envelope, keys: MasterKeys, *, org_id: str, name: str) -> bytes:
    """As ``unseal``. Raises UnavailableError."""
    data_key = _data_key(envelope, keys, org_id, name)
    return _decrypt(data_key, envelope.ciphertext, _context("secret", org_id, name, ""))


def rewrap(envelope: Envelope, keys: MasterKeys, *, org_id: str, name: str) -> Envelope:
    """The same secret under the current master key. Raises UnavailableError."""
    if envelope.key_id == keys.current:
        return envelope
    data_key = _data_key(envelope, keys, org_id, name)
    wrapped = _encrypt(keys.key(keys.current), data_key, _context("key", org_id, name, keys.current))
    return Envelope(keys.current, wrapped, envelope.ciphertext)


def _data_key(envelope: Envelope, keys: MasterKeys, org_id: str, name: str) -> bytes:
    context = _context("key", org_id, name, envelope.key_id)
    return _decrypt(keys.key(envelope.key_id), envelope.wrapped_key, context)


def _context(what: str, org_id: str, name: str, key_id: str) -> bytes:
    return canonical_bytes(["headgate.vault.1", what, org_id, name, key_id])


def _encrypt(key: bytes, plain: bytes, context: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plain, context)


def _decrypt(key: bytes, sealed: bytes, context: bytes) -> bytes:
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], context)
    except (InvalidTag, ValueError) as error:
        raise UnavailableError(
            "A stored secret cannot be decrypted: its row was changed, or it was encrypted under another key."
        ) from error
