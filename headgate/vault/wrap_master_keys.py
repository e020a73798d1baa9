"""Wraps the master keys in the file with a key management service, or writes them in the clear again.

The file is replaced whole, after the service has wrapped every key and unwrapped it again. The keys stay the same, so
secrets do not change and running processes go on. An earlier copy of the file still opens the secrets until the master
keys are rotated and the old ones retired.
"""

import dataclasses
from pathlib import Path

from headgate.vault.master_keys import MasterKeys, load_master_keys, store_master_keys, wrapper_of
from headgate.vault.unwrapper import Unwrapper
from headgate.vault.wrapped_key import Wrapping


def wrap_master_keys(path: Path, unwrapper: Unwrapper, wrapping: Wrapping) -> MasterKeys:
    """Wraps all master keys with this key, also those that another key wraps. Raises UnavailableError."""
    keys, wrap = load_master_keys(path, unwrapper), wrapper_of(unwrapper, wrapping)
    wrapped = dataclasses.replace(keys, wrapped={key_id: wrap(key_id, key) for key_id, key in keys.keys.items()})
    store_master_keys(path, wrapped)
    return wrapped


def unwrap_master_keys(path: Path, unwrapper: Unwrapper) -> MasterKeys:
    """Writes all master keys in the clear. Raises UnavailableError."""
    clear = dataclasses.replace(load_master_keys(path, unwrapper), wrapped={})
    store_master_keys(path, clear)
    return clear
