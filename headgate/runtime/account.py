"""Who the embedded servers run as, and how a child comes to be that and to die with its parent. Linux only.

PostgreSQL refuses to run as root, with reason: whoever gets SQL of a superuser would have the machine. So root
gives up its rights for the servers: they run as ``nobody``. Where ``nobody`` could not even enter the folders
above (a checkout below /root), the child keeps the one capability to read and search directories, and no other.
"""

import ctypes
import os
import pwd
import signal
import stat
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import UnavailableError

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_KEEPCAPS: Final = 8
_PR_SET_SECUREBITS: Final = 28
_SECBIT_NO_SETUID_FIXUP: Final = 1 << 2
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_RAISE: Final = 2
_CAP_DAC_OVERRIDE: Final = 1
_CAP_DAC_READ_SEARCH: Final = 2
_CAPABILITY_VERSION_3: Final = 0x20080522  # linux/capability.h
_UNPRIVILEGED_USER: Final = "nobody"


class Account(Struct, frozen=True):
    """Whom a server runs as. ``capability`` is kept where the folders above are closed to that user."""

    uid: int
    gid: int
    capability: int | None = None


def server_account(paths: Iterable[Path]) -> Account | None:
    """None: as whoever we are. For root: an unprivileged user who can reach ``paths``. Raises UnavailableError."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(_UNPRIVILEGED_USER)
    except KeyError:
        raise UnavailableError(
            f"PostgreSQL does not run as root, and there is no user {_UNPRIVILEGED_USER} to run it as:"
            " start headgate as another user"
        ) from None
    account = Account(entry.pw_uid, entry.pw_gid)
    if all(can_reach(path, account) for path in paths):
        return account
    return Account(account.uid, account.gid, _reading_capability())


def can_reach(path: Path, account: Account) -> bool:
    """Whether every folder above ``path`` lets this account through."""
    for folder in path.resolve().parents:
        status = folder.stat()
        if status.st_uid == account.uid:
            bit = stat.S_IXUSR
        elif status.st_gid == account.gid:
            bit = stat.S_IXGRP
        else:
            bit = stat.S_IXOTH
        if not status.st_mode & bit:
            return False
    return True


def _reading_capability() -> int:
    """The weaker one where we have it; a container often has only the other. Raises UnavailableError."""
    line = next(
        line for line in Path("/proc/self/status").read_text("ascii").splitlines() if line.startswith("CapPrm:")
    )
    permitted = int(line.split()[1], 16)
    for capability in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE):
        if permitted >> capability & 1:
            return capability
    raise UnavailableError(
        "PostgreSQL does not run as root, and the user nobody cannot enter the folder of the data or of this"
        " installation: choose folders that others may enter, or start headgate as another user"
    )


def child_setup(death_signal: signal.Signals, account: Account | None) -> Callable[[], None]:
    """What a child does between fork and exec: give up root, then ask to be told when its parent dies.

    In this order: the kernel forgets the signal when credentials change (prctl(2), PR_SET_PDEATHSIG).
    """
    if sys.platform != "linux":
        raise UnavailableError("headgate up needs Linux: set HEADGATE_DATABASE_URL and run each part by itself")
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def set_up() -> None:
        if account is not None:
            _become(libc, account)
        _check(libc.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0))
        if os.getppid() != parent:
            os._exit(1)  # the parent died in between: nobody would tell us any more

    return set_up


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def _become(libc: ctypes.CDLL, account: Account) -> None:
    if account.capability is not None:
        _check(libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0))
        # Without it access(2), with which initdb looks for postgres, goes by the user alone, not by the capability
        # (capabilities(7)). A container may forbid it, where other folders may still be entered.
        libc.prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)
    if account.capability is not None:
        bit = 1 << account.capability
        data = (_Data * 2)(_Data(bit, bit, bit), _Data(0, 0, 0))
        _check(libc.capset(ctypes.byref(_Header(_CAPABILITY_VERSION_3, 0)), ctypes.byref(data)))
        _check(libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, account.capability, 0, 0))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
