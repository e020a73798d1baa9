"""The keys that all others are encrypted with: one JSON file, 0600, outside the database.

``{"current": "k1-0a1b2c3d", "keys": {"k1-0a1b2c3d": "base64 of 32 bytes"}}``. What stands behind the hyphen is the
beginning of the key's SHA-256, so that another key under the same name is refused when the file is read; names without
one are accepted. In place of a key, the file may hold it as a key management service has wrapped it (``wrapped_key``).
``headgate secrets`` changes the file (docs/guides/secrets.md). All machines of an installation need the same one
(HEADGATE_MASTER_KEYS_FILE); without one it is made in the data directory when a first secret is kept.
"""

import base64
import dataclasses
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headgate.kernel.atomic_file import create_file, replace_file
from headgate.kernel.errors import ConflictError, NotFoundError, UnavailableError
from headgate.kernel.secret_file import require_secret
from headgate.kernel.secrets import MASK
from headgate.vault.stored_keys import KEY_BYTES, mark, parse_stored_keys
from headgate.vault.unwrapper import Unwrapper
from headgate.vault.wrapped_key import WrappedKey, Wrapping

_NUMBER: Final = re.compile(r"k(\d{1,9})(?:-.*)?")


type Wrap = Callable[[str, bytes], WrappedKey]


@dataclass(frozen=True, slots=True, repr=False)
class MasterKeys:
    """``keys`` by their identifiers; new secrets are encrypted under ``current``. ``wrapped``: the wrapped form of the
    keys that the file does not hold in the clear."""

    current: str
    keys: dict[str, bytes]
    wrapped: dict[str, WrappedKey] = field(default_factory=dict)

    def key(self, key_id: str) -> bytes:
        """Raises UnavailableError."""
        try:
            return self.keys[key_id]
        except KeyError:
            raise UnavailableError(
                f"the master key {key_id!r} is not in the file of master keys: restore it (headgate secrets status)"
            ) from None

    @property
    def wrapping(self) -> Wrapping | None:
        """How the current key is wrapped, and so how the next key will be. None: in the clear."""
        current = self.wrapped.get(self.current)
        return None if current is None else current.wrapping

    def with_new_key(self, wrap: Wrap | None = None) -> tuple["MasterKeys", str]:
        """One more, behind the others; the current one stays. And what it is called. ``wrap`` None: in the clear.
        Raises what ``wrap`` raises."""
        numbers = [int(match[1]) for one in self.keys if (match := _NUMBER.fullmatch(one))]
        key = os.urandom(KEY_BYTES)
        key_id = f"k{max(numbers, default=0) + 1}-{mark(key)}"
        wrapped = self.wrapped if wrap is None else {**self.wrapped, key_id: wrap(key_id, key)}
        return MasterKeys(self.current, {**self.keys, key_id: key}, wrapped), key_id

    def with_current(self, key_id: str) -> "MasterKeys":
        """Raises UnavailableError."""
        self.key(key_id)
        return dataclasses.replace(self, current=key_id)

    def without(self, key_id: str) -> "MasterKeys":
        """Raises NotFoundError, ConflictError (the current one)."""
        if key_id not in self.keys:
            raise NotFoundError(f"there is no master key {key_id!r} in the file")
        if key_id == self.current:
            raise ConflictError(f"{key_id} is the current master key: rotate first")
        return MasterKeys(
            self.current,
            {one: key for one, key in self.keys.items() if one != key_id},
            {one: key for one, key in self.wrapped.items() if one != key_id},
        )

    @property
    def prepared(self) -> str | None:
        """The newest key, where it is not the current one yet: it was made to be carried to every machine first."""
        newest = list(self.keys)[-1]
        return newest if list(self.keys).index(self.current) < list(self.keys).index(newest) else None

    def to_json(self) -> bytes:
        """Returns the content of the file. It is a secret unless every key is wrapped."""
        keys = {
            key_id: self.wrapped[key_id].to_document() if key_id in self.wrapped else base64.b64encode(key).decode()
            for key_id, key in self.keys.items()
        }
        return json.dumps({"current": self.current, "keys": keys}).encode()

    def __repr__(self) -> str:
        return f"MasterKeys(current={self.current!r}, keys={MASK})"


def load_master_keys(path: Path, unwrapper: Unwrapper | None = None) -> MasterKeys:
    """Raises UnavailableError, which says what is wrong with the file or the service, and what to do. ``unwrapper``
    None: a file with wrapped keys is refused."""
    stored = parse_stored_keys(_content(path), str(path))
    wrapped = {key_id: entry for key_id, entry in stored.entries.items() if isinstance(entry, WrappedKey)}
    opened: dict[str, bytes] = {}
    if wrapped:
        if unwrapper is None:
            raise UnavailableError(
                f"the master keys cannot be read: {path} holds wrapped keys, and this process does not use the key"
                " management service"
            )
        try:
            opened = unwrapper.unwrap(wrapped)
        except UnavailableError as error:
            raise UnavailableError(f"the master keys cannot be read: {path}: {error.message}") from error
    # In the order of the file: which key is the newest says what is prepared.
    keys = {key_id: entry if isinstance(entry, bytes) else opened[key_id] for key_id, entry in stored.entries.items()}
    return MasterKeys(stored.current, keys, wrapped)


def _content(path: Path) -> bytes:
    try:
        require_secret(path)
        return path.read_bytes()
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


def create_master_keys(path: Path, unwrapper: Unwrapper | None = None, wrapping: Wrapping | None = None) -> MasterKeys:
    """Makes a first key, unless there is a file: of two processes at the same moment, one wins whole. The key is
    wrapped with ``wrapping``; None: it is written in the clear.

    Raises UnavailableError.
    """
    key = os.urandom(KEY_BYTES)
    key_id = f"k1-{mark(key)}"
    wrap = None if wrapping is None else wrapper_of(unwrapper, wrapping)
    made = MasterKeys(key_id, {key_id: key}, {} if wrap is None else {key_id: wrap(key_id, key)})
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        create_file(path, made.to_json(), mode=0o600)
    except OSError as error:
        raise UnavailableError(f"the file of master keys cannot be made: {path}: {error.strerror}") from error
    return load_master_keys(path, unwrapper)


def wrapper_of(unwrapper: Unwrapper | None, wrapping: Wrapping) -> Wrap:
    """Returns what wraps keys with ``wrapping``. Raises UnavailableError without an unwrapper, so that no key is
    written in the clear instead."""
    if unwrapper is None:
        raise UnavailableError(
            "the master keys are wrapped, and this process does not use the key management service: it can add no key"
        )
    return lambda key_id, key: unwrapper.wrap(key_id, key, wrapping)


def store_master_keys(path: Path, keys: MasterKeys) -> None:
    """In place of those in the file, whole or not at all. Raises UnavailableError."""
    try:
        replace_file(path, keys.to_json(), mode=0o600)
    except OSError as error:
        raise UnavailableError(f"the file of master keys cannot be written: {path}: {error.strerror}") from error
