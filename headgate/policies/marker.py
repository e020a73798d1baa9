"""Which policy was running when a process died.

The engine cannot be made safe against every policy (regorus-py/README.md): what is left kills
the process. So a process keeps, in a small file that it has mapped, the policy that it is evaluating; the
kernel keeps the page when the process is gone. Whoever starts next finds it (``quarantine``).

Not every death is the policy's doing: a process that is killed from outside, or a machine that loses power,
was evaluating something too. Blamed at once is who was running at a fault (SIGSEGV, SIGABRT, …) or for so
long that its limits cannot have worked; otherwise the second time in ten minutes, nobody else in between.
"""

import fcntl
import mmap
import os
import signal
import struct
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns
from typing import Final

PAGE_BYTES: Final = 256
_SIZE: Final = PAGE_BYTES
SHADOW_THREAD: Final = "-shadow"
DRY_RUN_THREAD: Final = "-dry-run"
EXECUTIONS_THREAD: Final = "-executions"
SLOW_THREAD: Final = "-slow"
EXECUTIONS_SLOW_THREAD: Final = "-executions-slow"
THREADS: Final = (SHADOW_THREAD, DRY_RUN_THREAD, EXECUTIONS_THREAD, SLOW_THREAD, EXECUTIONS_SLOW_THREAD)
"""The threads, besides the one that decides, that evaluate policies."""
_RUNNING: Final = 0
_SIGNAL: Final = 1
_TIMES: Final = struct.Struct("<qq")  # monotonic nanoseconds: begun, found dead
_TIMES_AT: Final = 8
_MARK_AT: Final = 24
_MARK_SIZE: Final = _SIZE - _MARK_AT
_BEGUN: Final = struct.Struct("<q")

_FAULTS: Final = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGSYS, signal.SIGXCPU}
)
_STUCK_NANOSECONDS: Final = 1_000_000_000  # twenty times the time limit


def mark_of(org_id: str, policy_id: str, version: int) -> bytes:
    """What is written while this policy runs."""
    text = f"{org_id}\n{policy_id}\n{version}".encode()
    if len(text) > _MARK_SIZE:
        raise ValueError(f"a mark holds at most {_MARK_SIZE} bytes")
    return text.ljust(_MARK_SIZE, b"\0")


class Marker:
    """What this process is evaluating, kept where it survives it. One evaluating thread a marker; ``thread`` tells
    those of one process apart.

    The file is locked for as long as the process lives, so that the living are told from the dead without
    trusting process ids, which are used again.
    """

    def __init__(self, folder: Path, thread: str = "") -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"evaluating-{os.getpid()}{thread}"
        # Found by that name only once it is locked: whoever starts at the same moment would take it for a dead one's.
        unlocked = folder / f"new-{os.getpid()}{thread}"
        self._file = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Not only made longer: a page that has no room on a disk that is full ends the process that writes to it.
        os.posix_fallocate(self._file, 0, _SIZE)
        self._page = mmap.mmap(self._file, _SIZE)
        unlocked.rename(self._path)

    def begin(self, mark: bytes) -> None:
        """Before the engine is entered; ``mark`` is ``mark_of`` the policy."""
        page = self._page
        page[_MARK_AT:_SIZE] = mark
        page[_TIMES_AT : _TIMES_AT + 8] = _BEGUN.pack(monotonic_ns())
        page[_RUNNING] = 1

    def end(self) -> None:
        """After the engine returned or raised."""
        self._page[_RUNNING] = 0

    def close(self) -> None:
        """An orderly end: nothing is left to find."""
        self._path.unlink(missing_ok=True)
        self._page.close()
        os.close(self._file)


def note_death(folder: Path, pid: int, signal_number: int) -> None:
    """For the supervisor, when a child has died of a signal: how, and that it was just now."""
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


@dataclass(frozen=True, slots=True)
class Suspect:
    """A policy that was running when its process died. ``reason`` is what people are told."""

    org_id: str
    policy_id: str
    version: int
    is_certain: bool
    reason: str


def read_mark(page: bytes) -> Suspect | None:
    """Who was running according to a marker's file; None: nobody."""
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
