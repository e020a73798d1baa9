"""Message authentication codes of journal entries.

A code is HMAC-SHA256 (RFC 2104) cut to 128 bits, under a key that HKDF (RFC 5869) derives from a master key. The
database never has the key: its owner can delete an entry or change it, but cannot write one.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from headgate.kernel.errors import UnavailableError
from headgate.kernel.sealing import derived_key
from headgate.kernel.secrets import Secret

CODE_BYTES: Final = 16
MARK_BYTES: Final = 4


class Keys(Protocol):
    """The installation's master keys, by their identifiers."""

    @property
    def current(self) -> str: ...

    @property
    def keys(self) -> Mapping[str, bytes]: ...


def signer_of(master: bytes) -> "Signer":
    """The signer under a master key."""
    return Signer(derived_key(Secret(master.hex()), b"headgate.journal.1"))


class EntryCodes:
    """Makes codes under the current master key, and checks those under any of them.

    ``keys`` is read each time: a rotation needs no restart. Where they cannot be read any more, those that were read
    last go on, so that a file that is lost stops nothing that runs.
    """

    def __init__(self, keys: Callable[[], Keys]) -> None:
        self._read = keys
        self._last: Keys | None = None
        self._signers: dict[bytes, Signer] = {}

    def signer(self) -> "Signer":
        """For one batch. Raises UnavailableError: the master keys cannot be read."""
        keys = self._keys()
        return self._signer_of(keys.keys[keys.current])

    def checker(self) -> "Checker":
        """For one round. Raises UnavailableError."""
        return Checker([self._signer_of(master) for master in self._keys().keys.values()])

    def _keys(self) -> Keys:
        try:
            self._last = self._read()
        except UnavailableError:
            if self._last is None:
                raise
        return self._last

    def _signer_of(self, master: bytes) -> "Signer":
        if (signer := self._signers.get(master)) is None:
            signer = self._signers[master] = signer_of(master)
        return signer


class Signer:
    """``mark`` tells which key it was, among a few."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.mark = hashlib.sha256(key).digest()[:MARK_BYTES]

    def code(self, message: bytes) -> bytes:
        return hmac.digest(self._key, message, "sha256")[:CODE_BYTES]


class Checker:
    """Checks codes that were made with any of the master keys."""

    def __init__(self, signers: Sequence[Signer]) -> None:
        self._signers = {signer.mark: signer for signer in signers}

    def codes(self, message: bytes) -> list[bytes]:
        """The valid ones: under each key."""
        return [signer.code(message) for signer in self._signers.values()]

    def is_valid(self, message: bytes, mark: bytes, code: bytes) -> bool:
        signer = self._signers.get(mark)
        return signer is not None and hmac.compare_digest(signer.code(message), code)
