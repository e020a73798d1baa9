"""Which users run processes of an instance."""

import pwd
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def users_of(pids: Iterable[int], *, besides: int) -> list[str]:
    """Who runs these processes, but for the user ``besides``: root gives the servers to another user
    (``headgate.runtime.account``), to whom their files and signals belong."""
    found: set[int] = set()
    for pid in pids:
        with suppress(OSError):  # it has ended, or this system has no /proc
            found.add(Path(f"/proc/{pid}").stat().st_uid)
    return [_user_name(uid) for uid in sorted(found - {besides})]


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
