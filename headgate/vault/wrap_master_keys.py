"""Wraps the master keys in the file with a key management service, or writes them in the clear again.

The file is replaced whole, after the service has wrapped every key and unwrapped it again. Keys stay the same, so no
secret is touched, and processes that run go on. A copy of the file from before still opens the secrets: only a
rotation, after which the old key is retired, ends that.
"""

from dataclasses import replace
from pathlib import Path

from headgate.vault.master_keys import MasterKeys, load_master_keys, store_master_keys, wrapper_of
from headgate.vault.unwrapper import Unwrapper
from headgate.vault.wrapped_key import Wrapping


def wrap_master_keys(path: Path, unwrapper: Unwrapper, wrapping: Wrapping) -> MasterKeys:
    """All of them with this key, also those that another one wraps. Raises UnavailableError."""
    keys, wrap = load_master_keys(path, unwrapper), wrapper_of(unwrapper, wrapping)
    wrapped = replace(keys, wrapped={key_id: wrap(key_id, key) for key_id, key in keys.keys.items()})
    store_master_keys(path, wrapped)
    return wrapped


def unwrap_master_keys(path: Path, unwrapper: Unwrapper) -> MasterKeys:
    """Raises UnavailableError."""
    clear = replace(load_master_keys(path, unwrapper), wrapped={})
    store_master_keys(path, clear)
    return clear
