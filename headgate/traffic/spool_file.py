"""One file of the spool while it is written: made, locked, appended to, handed over or taken away."""

import fcntl
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Final

from headgate.traffic.model import Loss
from headgate.traffic.segment import KEY_BYTES, FrameSealer, segment_header
from headgate.vault.service import Vault

OPEN: Final = ".open"
READY: Final = ".ready"


class SpoolFile:
    """The file that is being written. Raises OSError, UnavailableError."""

    def __init__(self, folder: Path, name: str, vault: Vault) -> None:
        key = os.urandom(KEY_BYTES)
        header = segment_header(vault, name, key)
        self.path = folder / (name + OPEN)
        self.sealer = FrameSealer(name, key)
        self.exchanges: Counter[str] = Counter()
        self.losses: list[tuple[str, Loss, int]] = []
        self.descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_APPEND, 0o600)
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        self.size = 0
        try:
            self.write(header)
        except OSError:
            self.abandon()
            raise

    @property
    def is_there(self) -> bool:
        return os.fstat(self.descriptor).st_nlink > 0

    def write(self, data: bytes) -> None:
        """All of it, or none of it is there afterwards."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.descriptor, view) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self.descriptor, self.size)
            raise
        self.size += len(data)

    def finish(self) -> None:
        self.path.rename(self.path.with_suffix(READY))
        os.close(self.descriptor)

    def abandon(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self.descriptor)
