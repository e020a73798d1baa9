"""Reads the file of master keys. Errors name what is wrong with it, and show nothing that may be a key."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Final

from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.kernel.secrets import MASK
from headgate.vault.wrapped_key import WrappedKey, parse_wrapped_key

KEY_BYTES: Final = 32
_KEY_ID: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_MARKED: Final = re.compile(r".*-([0-9a-f]{8})")


@dataclass(frozen=True, slots=True, repr=False)
class StoredKeys:
    """The entries of the file by their identifiers: keys of 32 bytes in the clear, or wrapped keys."""

    current: str
    entries: dict[str, bytes | WrappedKey]

    def __repr__(self) -> str:
        return f"StoredKeys(current={self.current!r}, entries={MASK})"


def parse_stored_keys(content: bytes, source: str) -> StoredKeys:
    """``source`` names the file. Raises UnavailableError, which says what is wrong, and shows nothing that may be a
    key."""
    try:
        return _parsed(content)
    except DamagedKeysError as error:
        raise UnavailableError(
            f"the master keys cannot be read: {source} is damaged: {error}. Restore it from a copy or a backup (mode"
            " 0600), and check it with headgate secrets status"
        ) from error


class DamagedKeysError(ValueError):
    """What is wrong with the content of the file."""


def _parsed(content: bytes) -> StoredKeys:
    try:
        document = json.loads(content)
    except UnicodeDecodeError:
        raise DamagedKeysError("it is not text in UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise DamagedKeysError(f"it is not JSON ({where})" if content.strip() else "it is empty") from None
    except (ValueError, RecursionError):  # a number that is too long, or brackets that are too many
        raise DamagedKeysError("it is not JSON of this form") from None
    if not isinstance(document, dict):
        raise DamagedKeysError("it is not a JSON object")
    for member, form, name in (("current", str, "text"), ("keys", dict, "an object")):
        if member not in document:
            raise DamagedKeysError(f"the member {member!r} is missing")
        if not isinstance(document[member], form):
            raise DamagedKeysError(f"the member {member!r} is not {name}")
    entries = {key_id: _entry(key_id, entry) for key_id, entry in document["keys"].items()}
    if document["current"] not in entries:
        raise DamagedKeysError("the key that 'current' names is not among 'keys'")
    return StoredKeys(document["current"], entries)


def _entry(key_id: str, entry: object) -> bytes | WrappedKey:
    if not _KEY_ID.fullmatch(key_id):
        raise DamagedKeysError(
            "a key has a name with other characters than a-z, 0-9, '_', '.' and '-', or a too long one"
        )
    if isinstance(entry, dict):
        try:
            return parse_wrapped_key(entry)
        except ValidationError as error:
            raise DamagedKeysError(f"the wrapped key {key_id!r} is malformed: {error.message}") from None
    try:
        key = base64.b64decode(entry, validate=True) if isinstance(entry, str) else b""
    except ValueError:
        key = b""
    return checked(key_id, key)


def checked(key_id: str, key: bytes) -> bytes:
    """Returns the key if its length and its name's mark fit. Raises DamagedKeysError."""
    if len(key) != KEY_BYTES:
        raise DamagedKeysError(f"the key {key_id!r} is not the base64 of {KEY_BYTES} bytes")
    if (marked := _MARKED.fullmatch(key_id)) and marked[1] != mark(key):
        raise DamagedKeysError(f"the master key {key_id!r} is not the key that was created under this name")
    return key


def mark(key: bytes) -> str:
    """Returns the first 8 hex digits of the key's SHA-256. They reveal nothing of the key, which is random."""
    return hashlib.sha256(key).hexdigest()[:8]
