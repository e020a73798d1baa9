"""Records which policy is running, so that the next process finds it after a crash.

The engine cannot be made safe against every policy (regorus-py/README.md): the remaining cases kill the process. So a
process keeps the name of the running policy in a small memory-mapped file; the kernel keeps the page when the process
dies. The next process finds it (``quarantine``).

Not every death is the policy's fault: an outside kill or a power failure also interrupts an evaluation. The running
policy is blamed at once for a fault (SIGSEGV, SIGABRT, …), or if it ran so long that its limits cannot have worked.
Otherwise it is blamed for the second death in ten minutes without another policy in between.
"""

import fcntl
import mmap
import os
import signal
import struct
from pathlib import Path
from time import monotonic_ns
from typing import Final

from msgspec import Struct

PAGE_BYTES: Final = 256
_SIZE: Final = PAGE_BYTES
SHADOW_THREAD: Final = "-shadow"
DRY_RUN_THREAD: Final = "-dry-run"
EXECUTIONS_THREAD: Final = "-executions"
SLOW_THREAD: Final = "-slow"
EXECUTIONS_SLOW_THREAD: Final = "-executions-slow"
THREADS: Final = (SHADOW_THREAD, DRY_RUN_THREAD, EXECUTIONS_THREAD, SLOW_THREAD, EXECUTIONS_SLOW_THREAD)
"""The threads that evaluate policies besides the deciding one."""
_RUNNING: Final = 0
_SIGNAL: Final = 1
_TIMES: Final = struct.Struct("<qq")  # Monotonic nanoseconds: begun, found dead.
_TIMES_AT: Final = 8
_MARK_AT: Final = 24
_MARK_SIZE: Final = _SIZE - _MARK_AT
_BEGUN: Final = struct.Struct("<q")

_FAULTS: Final = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGSYS, signal.SIGXCPU}
)
_STUCK_NANOSECONDS: Final = 1_000_000_000  # Twenty times the time limit.


def mark_of(org_id: str, policy_id: str, version: int) -> bytes:
    """The text in the file while this policy runs."""
    text = f"{org_id}\n{policy_id}\n{version}".encode()
    if len(text) > _MARK_SIZE:
        raise ValueError(f"a mark holds at most {_MARK_SIZE} bytes")
    return text.ljust(_MARK_SIZE, b"\0")


class Marker:
    """The running policy, in a file that survives this process. One evaluating thread per marker; ``thread`` names the
    marker within the process.

    The process holds a file lock while it lives. This distinguishes living from dead processes without process ids,
    which the system reuses.
    """

    def __init__(self, folder: Path, thread: str = "") -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"evaluating-{os.getpid()}{thread}"
        # The final name is set only under the lock: otherwise a process starting now would take the file for a dead
        # one's.
        unlocked = folder / f"new-{os.getpid()}{thread}"
        self._file = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Write the page, not only its length: a page without space on a full disk kills the process that writes to
        # it.
        os.posix_fallocate(self._file, 0, _SIZE)
        self._page = mmap.mmap(self._file, _SIZE)
        unlocked.rename(self._path)

    def begin(self, mark: bytes) -> None:
        """Call before entering the engine; ``mark`` is ``mark_of`` the policy."""
        page = self._page
        page[_MARK_AT:_SIZE] = mark
        page[_TIMES_AT : _TIMES_AT + 8] = _BEGUN.pack(monotonic_ns())
        page[_RUNNING] = 1

    def end(self) -> None:
        """After the engine returned or raised."""
        self._page[_RUNNING] = 0

    def close(self) -> None:
        """An orderly end: no mark remains."""
        self._path.unlink(missing_ok=True)
        self._page.close()
        os.close(self._file)


def note_death(folder: Path, pid: int, signal_number: int) -> None:
    """For the supervisor, when a child has died of a signal: records the signal and the time."""
    for thread in ("", *THREADS):
        try:
            with (folder / f"evaluating-{pid}{thread}").open("r+b") as file:
                begun, _ = _TIMES.unpack(_page(file.read())[_TIMES_AT:_MARK_AT])
                file.seek(_SIGNAL)
                file.write(bytes([signal_number]))
                file.seek(_TIMES_AT)
                file.write(_TIMES.pack(begun, monotonic_ns()))
        except FileNotFoundError:
            continue


class Suspect(Struct, frozen=True):
    """A policy that was running when its process died. ``reason`` is the text for people."""

    org_id: str
    policy_id: str
    version: int
    is_certain: bool
    reason: str


def read_mark(page: bytes) -> Suspect | None:
    """The running policy according to a marker's file; None: none."""
    page = _page(page)
    if page[_RUNNING] == 0:
        return None
    begun, found = _TIMES.unpack(page[_TIMES_AT:_MARK_AT])
    try:
        org_id, policy_id, version = page[_MARK_AT:].rstrip(b"\0").decode().split("\n")
        number = int(version)
    except ValueError:
        return None
    died_of = page[_SIGNAL]
    if died_of in _FAULTS:
        is_certain, reason = True, f"it was running when a process died of {signal.Signals(died_of).name}"
    elif found and found - begun >= _STUCK_NANOSECONDS:
        is_certain, reason = True, f"it had been running for {(found - begun) / 1e9:.1f} s when its process died"
    else:
        is_certain, reason = False, "it was running when a process died, twice in a row"
    return Suspect(org_id, policy_id, number, is_certain, reason)


def _page(content: bytes) -> bytes:
    return content[:_SIZE].ljust(_SIZE, b"\0")
