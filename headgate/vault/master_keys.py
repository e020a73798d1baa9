"""The keys that all others are encrypted with: one JSON file, 0600, outside the database.

``{"current": "k1-0a1b2c3d", "keys": {"k1-0a1b2c3d": "base64 of 32 bytes"}}``. What stands behind the hyphen is the
beginning of the key's SHA-256, so that another key under the same name is refused when the file is read; names without
one are accepted. ``headgate secrets`` changes the file (docs/guides/secrets.md). All machines of an installation need
the same one (HEADGATE_MASTER_KEYS_FILE); without one it is made in the data directory when a first secret is kept.
"""

import base64
import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headgate.kernel.atomic_file import create_file, replace_file
from headgate.kernel.errors import ConflictError, NotFoundError, UnavailableError
from headgate.kernel.secret_file import require_secret
from headgate.kernel.secrets import MASK

_KEY_BYTES: Final = 32
_KEY_ID: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_NUMBER: Final = re.compile(r"k(\d{1,9})(?:-.*)?")
_MARKED: Final = re.compile(r".*-([0-9a-f]{8})")


@dataclass(frozen=True, slots=True, repr=False)
class MasterKeys:
    """``keys`` by their identifiers; new secrets are encrypted under ``current``."""

    current: str
    keys: dict[str, bytes]

    def key(self, key_id: str) -> bytes:
        """Raises UnavailableError."""
        try:
            return self.keys[key_id]
        except KeyError:
            raise UnavailableError(
                f"the master key {key_id!r} is not in the file of master keys: restore it (headgate secrets status)"
            ) from None

    def with_new_key(self) -> tuple["MasterKeys", str]:
        """One more, behind the others; the current one stays. And what it is called."""
        numbers = [int(match[1]) for one in self.keys if (match := _NUMBER.fullmatch(one))]
        key = os.urandom(_KEY_BYTES)
        key_id = f"k{max(numbers, default=0) + 1}-{_mark(key)}"
        return MasterKeys(self.current, {**self.keys, key_id: key}), key_id

    def with_current(self, key_id: str) -> "MasterKeys":
        """Raises UnavailableError."""
        self.key(key_id)
        return MasterKeys(key_id, self.keys)

    def without(self, key_id: str) -> "MasterKeys":
        """Raises NotFoundError, ConflictError (the current one)."""
        if key_id not in self.keys:
            raise NotFoundError(f"there is no master key {key_id!r} in the file")
        if key_id == self.current:
            raise ConflictError(f"{key_id} is the current master key: rotate first")
        return MasterKeys(self.current, {one: key for one, key in self.keys.items() if one != key_id})

    @property
    def prepared(self) -> str | None:
        """The newest key, where it is not the current one yet: it was made to be carried to every machine first."""
        newest = list(self.keys)[-1]
        return newest if list(self.keys).index(self.current) < list(self.keys).index(newest) else None

    def to_json(self) -> bytes:
        """With the keys in it."""
        keys = {key_id: base64.b64encode(key).decode() for key_id, key in self.keys.items()}
        return json.dumps({"current": self.current, "keys": keys}).encode()

    def __repr__(self) -> str:
        return f"MasterKeys(current={self.current!r}, keys={MASK})"


def load_master_keys(path: Path) -> MasterKeys:
    """Raises UnavailableError: not there, not readable, open to others, or of another form."""
    try:
        require_secret(path)
        return parse_master_keys(path.read_text("utf-8"))
    except PermissionError as error:
        raise UnavailableError(f"the master keys cannot be read: {error}") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnavailableError(f"the master keys cannot be read from {path}: {type(error).__name__}") from error


def create_master_keys(path: Path) -> MasterKeys:
    """A first key, unless there is a file: of two processes at the same moment, one wins whole.

    Raises UnavailableError.
    """
    key = os.urandom(_KEY_BYTES)
    key_id = f"k1-{_mark(key)}"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        create_file(path, MasterKeys(key_id, {key_id: key}).to_json(), mode=0o600)
    except OSError as error:
        raise UnavailableError(f"the file of master keys cannot be made: {path}: {error.strerror}") from error
    return load_master_keys(path)


def store_master_keys(path: Path, keys: MasterKeys) -> None:
    """In place of those in the file, whole or not at all. Raises UnavailableError."""
    try:
        replace_file(path, keys.to_json(), mode=0o600)
    except OSError as error:
        raise UnavailableError(f"the file of master keys cannot be written: {path}: {error.strerror}") from error


def parse_master_keys(text: str) -> MasterKeys:
    """Raises ValueError, KeyError, TypeError or AttributeError for another form; UnavailableError for another key."""
    document = json.loads(text)
    keys = {str(key_id): base64.b64decode(key, validate=True) for key_id, key in document["keys"].items()}
    current = document["current"]
    if current not in keys or any(len(key) != _KEY_BYTES or not _KEY_ID.fullmatch(one) for one, key in keys.items()):
        raise ValueError("a current key is required, and each is 32 bytes")
    for key_id, key in keys.items():
        if (marked := _MARKED.fullmatch(key_id)) and marked[1] != _mark(key):
            raise UnavailableError(
                f"the master key {key_id!r} is not the key that was created under this name. Restore it."
            )
    return MasterKeys(current, keys)


def _mark(key: bytes) -> str:
    """Tells two keys apart, and nothing of either: they are random."""
    return hashlib.sha256(key).hexdigest()[:8]
