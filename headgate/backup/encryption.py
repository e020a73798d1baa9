"""Encryption of a backup's parts under a passphrase.

The key comes from scrypt (RFC 7914) with a salt of the backup's own; each part has a key of its own (HKDF, RFC 5869). A
part is a run of chunks, AES-256-GCM (NIST SP 800-38D), whose nonces count and mark the last one (STREAM; Hoang,
Reyhanitabar, Rogaway, Vizár 2015): a part that was cut, or whose chunks were moved, does not open.
"""

import hashlib
import hmac
import os
from collections.abc import Iterable, Iterator
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from msgspec.structs import replace

from headgate.backup.manifest import Encryption, Manifest
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret

CHUNK_BYTES: Final = 1024 * 1024
PASSPHRASE_CHARACTERS_MIN: Final = 12
_TAG_BYTES: Final = 16
_KEY_BYTES: Final = 32
# 128 MiB and a third of a second (OWASP, Password Storage Cheat Sheet: scrypt).
_N: Final = 2**17
_R: Final = 8
_P: Final = 1
_MOST_N: Final = 2**20


class PassphraseKey:
    """The key of one backup. Its memory is this process's."""

    __slots__ = ("_key", "encryption")

    def __init__(self, key: bytes, encryption: Encryption) -> None:
        self._key = key
        self.encryption = encryption

    def of(self, purpose: str) -> bytes:
        return HKDF(SHA256(), _KEY_BYTES, salt=None, info=f"headgate backup v1 {purpose}".encode()).derive(self._key)

    def seal(self, manifest: Manifest) -> Manifest:
        """The manifest with its authentication (HMAC, RFC 2104)."""
        return replace(manifest, seal=self._mac(manifest))

    def require_sealed(self, manifest: Manifest) -> None:
        """Raises ValidationError."""
        if manifest.seal is None or not hmac.compare_digest(self._mac(manifest), manifest.seal):
            raise ValidationError("its manifest was changed after the backup was made")

    def _mac(self, manifest: Manifest) -> str:
        return hmac.new(self.of("manifest"), replace(manifest, seal=None).to_json(), hashlib.sha256).hexdigest()


def new_key(passphrase: Secret) -> PassphraseKey:
    """Raises ValidationError: too short."""
    if len(passphrase.reveal()) < PASSPHRASE_CHARACTERS_MIN:
        raise ValidationError(
            f"the passphrase is too short: use at least {PASSPHRASE_CHARACTERS_MIN} characters, for example the output"
            " of openssl rand -base64 24"
        )
    salt = os.urandom(16)
    key = PassphraseKey(_derive(passphrase, salt, _N, _R, _P), Encryption(salt.hex(), _N, _R, _P, ""))
    return PassphraseKey(key._key, replace(key.encryption, check=_check(key)))


def key_of(passphrase: Secret, encryption: Encryption) -> PassphraseKey:
    """Raises ValidationError: another passphrase, or parameters that no backup has."""
    if not 2 <= encryption.n <= _MOST_N or (encryption.r, encryption.p) != (_R, _P):
        raise ValidationError("its manifest has parameters of scrypt that Headgate does not write")
    key = PassphraseKey(
        _derive(passphrase, bytes.fromhex(encryption.salt), encryption.n, encryption.r, encryption.p), encryption
    )
    if not hmac.compare_digest(_check(key), encryption.check):
        raise ValidationError("the passphrase is not the one that the backup was made with")
    return key


def _derive(passphrase: Secret, salt: bytes, n: int, r: int, p: int) -> bytes:
    return Scrypt(salt=salt, length=_KEY_BYTES, n=n, r=r, p=p).derive(passphrase.reveal().encode())


def _check(key: PassphraseKey) -> str:
    return key.of("passphrase check").hex()


class PartCipher:
    """Encrypts one part as it is written; ``finish`` returns the last chunk."""

    def __init__(self, key: PassphraseKey, name: str) -> None:
        self._cipher = AESGCM(key.of(f"part {name}"))
        self._number = 0
        self._rest = bytearray()

    def update(self, plain: bytes) -> bytes:
        self._rest += plain
        out = bytearray()
        # One byte more than a chunk: the last chunk is known as the last only when the part ends.
        while len(self._rest) > CHUNK_BYTES:
            out += self._chunk(bytes(self._rest[:CHUNK_BYTES]), is_last=False)
            del self._rest[:CHUNK_BYTES]
        return bytes(out)

    def finish(self) -> bytes:
        return self._chunk(bytes(self._rest), is_last=True)

    def _chunk(self, plain: bytes, *, is_last: bool) -> bytes:
        sealed = self._cipher.encrypt(_nonce(self._number, is_last), plain, None)
        self._number += 1
        return sealed


def decrypted(stored: Iterable[bytes], key: PassphraseKey, name: str) -> Iterator[bytes]:
    """The plain bytes of a part, chunk by chunk. Raises ValidationError."""
    cipher = AESGCM(key.of(f"part {name}"))
    rest = bytearray()
    number = 0
    size = CHUNK_BYTES + _TAG_BYTES
    for piece in stored:
        rest += piece
        while len(rest) > size:
            yield _opened(cipher, bytes(rest[:size]), number, name, is_last=False)
            del rest[:size]
            number += 1
    yield _opened(cipher, bytes(rest), number, name, is_last=True)


def _opened(cipher: AESGCM, sealed: bytes, number: int, name: str, *, is_last: bool) -> bytes:
    try:
        return cipher.decrypt(_nonce(number, is_last), sealed, None)
    except (InvalidTag, ValueError) as error:
        raise ValidationError(f"its part {name} was changed or cut: chunk {number} does not open") from error


def _nonce(number: int, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + (b"\x01" if is_last else b"\x00")
