"""The master keys of the tests: processes and fixtures that write and apply one journal need the same."""

from pathlib import Path
from typing import Final

from headgate.kernel.entry_codes import EntryCodes
from headgate.vault.master_keys import MasterKeys, store_master_keys

_KEYS: Final = MasterKeys("k1", {"k1": bytes(range(32))})
CODES: Final = EntryCodes(lambda: _KEYS)


def put_master_keys(file: Path) -> None:
    """Unless there are some: as ``headgate up`` or ``headgate secrets create`` does before a process starts."""
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        store_master_keys(file, _KEYS)
