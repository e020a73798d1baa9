"""The keys that all others are encrypted with: one JSON file, 0600, outside the database.

``{"current": "k1", "keys": {"k1": "base64 of 32 bytes"}}``. To change the key, add another, make it the current
one, and keep the old one until everything is rewrapped. All machines of an installation need the same file
(HEADGATE_MASTER_KEYS_FILE); without one it is made in the data directory at the first use.
"""

import base64
import json
import os
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import MASK

_KEY_BYTES: Final = 32
_KEY_ID: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_OTHERS: Final = 0o077


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
            raise UnavailableError(f"the master key {key_id!r} is not in the file of master keys: restore it") from None

    def __repr__(self) -> str:
        return f"MasterKeys(current={self.current!r}, keys={MASK})"


def load_master_keys(path: Path) -> MasterKeys:
    """Raises UnavailableError: not there, not readable, open to others, or of another form."""
    try:
        if path.stat().st_mode & _OTHERS:
            raise UnavailableError(f"{path} can be read by others: chmod 600 it")
        return parse_master_keys(path.read_text("utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnavailableError(f"the master keys cannot be read from {path}: {type(error).__name__}") from error


def open_master_keys(path: Path) -> MasterKeys:
    """The keys of the file; made if there is none. Raises UnavailableError."""
    if not path.exists():
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _create(path)
        except OSError as error:
            raise UnavailableError(f"the file of master keys cannot be made: {path}: {error.strerror}") from error
    return load_master_keys(path)


def parse_master_keys(text: str) -> MasterKeys:
    """Raises ValueError, KeyError, TypeError or AttributeError for another form."""
    document = json.loads(text)
    keys = {str(key_id): base64.b64decode(key, validate=True) for key_id, key in document["keys"].items()}
    current = document["current"]
    if current not in keys or any(len(key) != _KEY_BYTES or not _KEY_ID.fullmatch(one) for one, key in keys.items()):
        raise ValueError("a current key is required, and each is 32 bytes")
    return MasterKeys(current, keys)


def _create(path: Path) -> None:
    """Written beside and linked into place: of two processes at the first start, one file wins whole."""
    document = {"current": "k1", "keys": {"k1": base64.b64encode(os.urandom(_KEY_BYTES)).decode()}}
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # 0600
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)
