"""A folder in memory, for files that no test needs to find on a disk."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")
_PREFIX = "headgate-tests-"
_LOCKED_WITHIN_SECONDS = 60
"""A younger folder may be one that its process has made and not locked yet."""


@contextmanager
def memory_folder(needed_bytes: int) -> Iterator[Path | None]:
    """None where the machine has no such memory: a container often has 64 MiB.

    The folder is locked as long as its process lives. Those of killed processes are removed, which would hold memory.
    """
    if not _MEMORY.is_dir() or shutil.disk_usage(_MEMORY).free < needed_bytes:
        yield None
        return
    for left in _MEMORY.glob(f"{_PREFIX}*"):
        _remove_unless_locked(left)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=_MEMORY) as folder:
        lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Path(folder)
        finally:
            os.close(lock)


def _remove_unless_locked(folder: Path) -> None:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:  # another user's, or just removed
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(lock).st_mtime > _LOCKED_WITHIN_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)
