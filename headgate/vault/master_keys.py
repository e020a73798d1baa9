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
    """Raises UnavailableError, which says what is wrong with the file, and what to do."""
    try:
        require_secret(path)
        content = path.read_bytes()
    except PermissionError as error:
        remedy = (
            str(error) if error.errno is None else f"{path}: permission denied. Give it to the user that runs Headgate"
        )
        raise UnavailableError(f"the master keys cannot be read: {remedy}") from error
    except FileNotFoundError as error:
        raise UnavailableError(
            f"the master keys cannot be read: {path} does not exist. Restore it, or name the file with"
            " HEADGATE_MASTER_KEYS_FILE"
        ) from error
    except OSError as error:
        raise UnavailableError(f"the master keys cannot be read: {path}: {error.strerror or error}") from error
    return parse_master_keys(content, str(path))


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


def parse_master_keys(content: bytes, source: str) -> MasterKeys:
    """The one reader of the file's form. ``source`` says where the content is from. Raises UnavailableError, which says
    what is wrong, and shows nothing that may be a key."""
    try:
        return _parsed(content)
    except _DamagedError as error:
        raise UnavailableError(
            f"the master keys cannot be read: {source} is damaged: {error}. Restore it from a copy or a backup (mode"
            " 0600), and check it with headgate secrets status"
        ) from error


class _DamagedError(ValueError):
    """What is wrong with the content of the file."""


def _parsed(content: bytes) -> MasterKeys:
    try:
        document = json.loads(content)
    except UnicodeDecodeError:
        raise _DamagedError("it is not text in UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _DamagedError(f"it is not JSON ({where})" if content.strip() else "it is empty") from None
    except (ValueError, RecursionError):  # a number that is too long, or brackets that are too many
        raise _DamagedError("it is not JSON of this form") from None
    if not isinstance(document, dict):
        raise _DamagedError("it is not a JSON object")
    for member, form, name in (("current", str, "text"), ("keys", dict, "an object")):
        if member not in document:
            raise _DamagedError(f"the member {member!r} is missing")
        if not isinstance(document[member], form):
            raise _DamagedError(f"the member {member!r} is not {name}")
    keys = {key_id: _key(key_id, text) for key_id, text in document["keys"].items()}
    if document["current"] not in keys:
        raise _DamagedError("the key that 'current' names is not among 'keys'")
    return MasterKeys(document["current"], keys)


def _key(key_id: str, text: object) -> bytes:
    if not _KEY_ID.fullmatch(key_id):
        raise _DamagedError("a key has a name with other characters than a-z, 0-9, '_', '.' and '-', or a too long one")
    try:
        key = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise _DamagedError(f"the key {key_id!r} is not the base64 of {_KEY_BYTES} bytes")
    if (marked := _MARKED.fullmatch(key_id)) and marked[1] != _mark(key):
        raise _DamagedError(f"the master key {key_id!r} is not the key that was created under this name")
    return key


def _mark(key: bytes) -> str:
    """Tells two keys apart, and nothing of either: they are random."""
    return hashlib.sha256(key).hexdigest()[:8]
