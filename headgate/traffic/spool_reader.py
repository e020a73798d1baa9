"""The masker's end of the spool: which files are finished, whose processes have ended, and what is in a file."""

import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from headgate.traffic.model import Captured, Loss, Lost
from headgate.traffic.segment import FrameKind, read_frames, segment_key_id
from headgate.traffic.spool_file import OPEN, READY
from headgate.traffic.spool_writer import COUNTS
from headgate.traffic.tallies import read_tallies
from headgate.traffic.wire import decode_captured
from headgate.vault.service import Vault

_TRIES: Final = ".tries"
_LOCK: Final = "masker.lock"
TRIES_MAX: Final = 5
_BEGINNING_BYTES: Final = 128  # a master key's identifier has at most 64
_SETTLING_SECONDS: Final = 2.0
"""A file that a process has just made may not be locked yet."""


class Contents(Struct):
    """What one file holds. ``settled``: the last number of each organization."""

    exchanges: list[Captured] = field(default_factory=list)
    losses: list[Lost] = field(default_factory=list)
    settled: dict[str, int] = field(default_factory=dict)


class EndedProcess(Struct, frozen=True):
    """``counts``: the file that tells what it had begun; ``unfinished``: the files that it was writing."""

    source: str
    counts: Path
    unfinished: tuple[Path, ...]


def read_segment(path: Path, vault: Vault) -> Contents:
    """Raises OSError; UnavailableError where the key is not there; DamagedError where the file does not open."""
    name = path.stem
    contents = Contents()
    for frame in read_frames(vault, name, path.read_bytes()):
        contents.settled[frame.org_id] = max(frame.number, contents.settled.get(frame.org_id, 0))
        loss_id = f"{name}/{frame.org_id}/{frame.number}"
        try:
            if frame.content is None:
                raise ValueError("it cannot be decrypted")
            if frame.kind is FrameKind.EXCHANGE:
                contents.exchanges.append(_owned(decode_captured(frame.content), frame.org_id))
            else:
                contents.losses.append(_loss(frame.org_id, loss_id, frame.content))
        except ValueError:
            at = written_at(path)
            contents.losses.append(Lost(frame.org_id, loss_id, Loss.DAMAGED, 1, at, at))
    return contents


def finished_segments(folder: Path) -> list[Path]:
    """In the order in which they were begun."""
    with suppress(OSError):
        return sorted(folder.glob(f"*{READY}"), key=lambda path: (_modified(path), path.name))
    return []


def files_under_keys(folder: Path) -> Counter[str]:
    """How many files of the spool are under each master key: what is in them is lost with it. Raises OSError."""
    under: Counter[str] = Counter()
    for path in [*folder.glob(f"*{READY}"), *folder.glob(f"*{OPEN}")]:
        try:
            with path.open("rb") as file:
                key_id = segment_key_id(file.read(_BEGINNING_BYTES))
        except FileNotFoundError:  # recorded meanwhile
            continue
        if key_id is not None:
            under[key_id] += 1
    return under


def ended_processes(folder: Path) -> list[EndedProcess]:
    """Those that hold their lock no more. Their finished files are ``finished_segments``."""
    ended: list[EndedProcess] = []
    for counts in sorted(folder.glob(f"*{COUNTS}")):
        if time.time() - _modified(counts) >= _SETTLING_SECONDS and _is_free(counts):
            source = counts.stem
            ended.append(EndedProcess(source, counts, tuple(sorted(folder.glob(f"{source}-*{OPEN}")))))
    return ended


def orphans(folder: Path) -> list[Path]:
    """Unfinished files of a process whose end was told already."""
    return [
        path
        for path in sorted(folder.glob(f"*{OPEN}"))
        if not (folder / (path.stem.rpartition("-")[0] + COUNTS)).exists()
        and time.time() - _modified(path) >= _SETTLING_SECONDS
        and _is_free(path)
    ]


def lost_with(process: EndedProcess, settled: dict[str, int]) -> list[Lost]:
    """What it had begun and not written. ``settled``: the numbers in its unfinished files. Raises OSError."""
    at = written_at(process.counts)
    lost: list[Lost] = []
    for org_id, (begun, told) in read_tallies(process.counts).items():
        missing = begun - max(told, settled.get(org_id, 0))
        if missing > 0:
            lost.append(Lost(org_id, f"{process.source}/ended", Loss.PROCESS_ENDED, missing, at, at))
    return lost


def given_up(path: Path, contents: Contents) -> list[Lost]:
    """For a file over which whoever masked it died again and again: its exchanges, as losses."""
    return [
        Lost(one.org_id, f"{path.stem}/{one.exchange_id}", Loss.NOT_MASKED, 1, one.created_at, one.created_at)
        for one in contents.exchanges
    ]


def begin_try(path: Path) -> int:
    """How often this file has been begun, this time included. Raises OSError."""
    tries = path.with_suffix(_TRIES)
    count = len(tries.read_bytes()) + 1 if tries.exists() else 1
    tries.write_bytes(b"x" * count)
    return count


def forget_try(path: Path) -> None:
    """It was not the file's fault."""
    path.with_suffix(_TRIES).unlink(missing_ok=True)


def forget_segment(path: Path) -> None:
    path.unlink(missing_ok=True)
    forget_try(path)


def is_empty(folder: Path) -> bool:
    """Whether there is nothing for a masker to do."""
    try:
        with os.scandir(folder) as entries:
            return not any(one.name.endswith((READY, OPEN, COUNTS)) for one in entries)
    except OSError:
        return True


def has_masker(folder: Path) -> bool:
    """Whether a process masks what is there."""
    lock = folder / _LOCK
    return lock.exists() and not _is_free(lock)


@contextmanager
def only_masker(folder: Path) -> Iterator[bool]:
    """True for one process at a time on a machine. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _owned(captured: Captured, org_id: str) -> Captured:
    if captured.org_id != org_id:
        raise ValueError("a frame of another organization")
    return captured


def _loss(org_id: str, loss_id: str, content: bytes) -> Lost:
    cause, exchanges, since, until = json.loads(content)
    # One process loses for several causes at once, and each frame tells one.
    return Lost(
        org_id,
        f"{loss_id}/{cause}",
        Loss(cause),
        int(exchanges),
        datetime.fromisoformat(since),
        datetime.fromisoformat(until),
    )


def written_at(path: Path) -> datetime:
    """The last time that something was written into it."""
    from_epoch = _modified(path) or time.time()
    return datetime.fromtimestamp(from_epoch, UTC)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _is_free(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
