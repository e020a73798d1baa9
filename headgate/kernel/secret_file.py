"""Files with keys in them, which nobody else may read.

The rule is PostgreSQL's for ``ssl_key_file``: the owner alone, or, where the file is root's and this process is not,
its group may read it. Kubernetes mounts secrets so for a user without rights (``fsGroup``).
"""

import os
import stat
from pathlib import Path
from typing import Final

_OTHERS: Final = 0o077
_OTHERS_BUT_READING_GROUP: Final = 0o037
_OTHERS_WRITE: Final = 0o022


def require_secret(path: Path) -> None:
    """Raises PermissionError, which says what to do, and the OSErrors of ``stat``. Links are followed."""
    status = path.stat()
    user = os.geteuid()
    if status.st_uid not in (user, 0):
        raise PermissionError(f"{path} belongs to another user. Give it to the user that runs Headgate, mode 0600")
    forbidden = _OTHERS_BUT_READING_GROUP if status.st_uid == 0 != user else _OTHERS
    if status.st_mode & forbidden:
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        raise PermissionError(f"{path} has a secret and can be read by others (mode {mode}, not 0600): chmod 600 it")


def require_unchanged(path: Path) -> None:
    """That nobody else may change it. Raises PermissionError, which says what to do, and the OSErrors of ``stat``."""
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0):
        raise PermissionError(f"{path} belongs to another user. Give it to root, or to the user that runs Headgate")
    if status.st_mode & _OTHERS_WRITE:
        raise PermissionError(
            f"{path} can be changed by others (mode {stat.S_IMODE(status.st_mode):04o}): chmod go-w it"
        )
