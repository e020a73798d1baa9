"""The form of API keys, and nothing that needs the database.

``hg_`` + 43 characters + 6 characters, all base62: 32 random bytes, and the CRC-32 of those 43 characters.
The prefix and the checksum let secret scanners recognise a key with no doubt, and let the gate refuse
everything else before any look-up (GitHub's token format, "Behind GitHub's new authentication token
formats", 2021). Stored is the SHA-256 alone: 256 random bits need no slow hash.
"""

import hashlib
import os
import re
import zlib
from typing import Final

from headgate.kernel.secrets import Secret

KEY_PATTERN: Final = r"hg_[0-9A-Za-z]{49}"
"""For secret scanners; ``is_well_formed`` checks the checksum too."""

_KEY: Final = re.compile(KEY_PATTERN)
_KEY_IN_TEXT: Final = re.compile(rf"(?<![0-9A-Za-z]){KEY_PATTERN}(?![0-9A-Za-z])")
_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
KEY_PREFIX: Final = "hg_"
_RANDOM_BYTES: Final = 32
_RANDOM_LENGTH: Final = 43  # 62 ** 43 > 2 ** 256
_CHECKSUM_LENGTH: Final = 6  # 62 ** 6 > 2 ** 32
DISPLAY_LENGTH: Final = 9


def generate_key() -> Secret:
    """A new key; it is shown once and kept nowhere."""
    return compose_key(os.urandom(_RANDOM_BYTES))


def compose_key(random: bytes) -> Secret:
    """The key that holds these 32 bytes."""
    if len(random) != _RANDOM_BYTES:
        raise ValueError(f"expected {_RANDOM_BYTES} random bytes, got {len(random)}")
    body = _base62(int.from_bytes(random), _RANDOM_LENGTH)
    return Secret(f"{KEY_PREFIX}{body}{_checksum(body)}")


def is_well_formed(text: str) -> bool:
    """Whether this can be a key at all; False is the answer without any look-up (specification, rule 3)."""
    if _KEY.fullmatch(text) is None:
        return False
    body = text[len(KEY_PREFIX) : len(KEY_PREFIX) + _RANDOM_LENGTH]
    return _checksum(body) == text[-_CHECKSUM_LENGTH:]


def keys_in(text: str) -> list[str]:
    """Every key that is written in a text, such as a log or a commit, once each; the checksum must hold."""
    return [found for found in dict.fromkeys(_KEY_IN_TEXT.findall(text)) if is_well_formed(found)]


def hash_key(text: str) -> bytes:
    """What the database knows of a key."""
    return hashlib.sha256(text.encode()).digest()


def display_prefix(key: Secret) -> str:
    """The first characters: enough for a person to recognise a key, nothing for a guesser."""
    return key.reveal()[:DISPLAY_LENGTH] + "…"


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
