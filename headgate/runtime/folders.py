"""The folders of an instance: who owns them, who may enter, and which version's they are."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.runtime.account import Account

LAYOUT_VERSION: Final = 1
"""Of what lies where in a data directory; raised with a change that this version could not read."""

_LEAST_FREE_BYTES: Final = 256 * 1024**2
_LONGEST_SOCKET_NAME: Final = len("/.s.PGSQL.5432.lock")
_SUN_PATH_BYTES: Final = 107  # 108 with the terminating NUL (unix(7))


def open_data_directory(data: DataDirectory) -> None:
    """Make it if there is none. Raises UnavailableError: another version's, no room, not writable.

    Others may pass through it (0711), to the CA's certificate in ``public``, but not list it; everything else in
    it is private for itself.
    """
    try:
        data.root.mkdir(parents=True, exist_ok=True)
        _refuse_unfinished(data)
        data.root.chmod(0o711)
        for folder, mode in ((data.public, 0o755), (data.logs, 0o700)):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        _check_version(data)
        free = shutil.disk_usage(data.root).free
    except OSError as error:
        raise disk_error(error, data.root) from error
    if free < _LEAST_FREE_BYTES:
        raise UnavailableError(
            f"the disk is full: {free // 1024**2} MiB are free for {data.root}, and a database that cannot write"
            f" refuses every call; make room ({_LEAST_FREE_BYTES // 1024**2} MiB at least) or choose another --data-dir"
        )


def disk_error(error: OSError, path: Path) -> UnavailableError:
    """What went wrong with a file, in words that help."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UnavailableError(f"the disk is full: {path} cannot be written; make room or choose another --data-dir")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return UnavailableError(
            f"{error.filename or path} cannot be written ({error.strerror}): choose another --data-dir"
        )
    return UnavailableError(f"{path} cannot be used: {error}")


def _refuse_unfinished(data: DataDirectory) -> None:
    if data.restoring.exists():
        raise UnavailableError(
            f"a restore into {data.root} was interrupted: run headgate restore again with the same backup, which"
            " completes it or starts over"
        )
    if data.upgrading.exists():
        raise UnavailableError(
            f"an upgrade of the database in {data.root} was interrupted: run headgate upgrade again, which completes it"
            " or starts over"
        )


def _check_version(data: DataDirectory) -> None:
    if not data.version_file.exists():
        if data.postgres.exists():
            raise UnavailableError(
                f"{data.root} holds a database but does not say which version of Headgate made it:"
                f" restore {data.version_file.name}, or choose another --data-dir"
            )
        data.version_file.write_text(json.dumps({"layout": LAYOUT_VERSION}) + "\n", "utf-8")
        return
    try:
        document = json.loads(data.version_file.read_text("utf-8"))
        found = document["layout"]
    except (ValueError, KeyError, TypeError) as error:
        raise UnavailableError(
            f"{data.version_file} cannot be understood: restore it, or choose another --data-dir"
        ) from error
    if found != LAYOUT_VERSION:
        raise UnavailableError(
            f"{data.root} belongs to another version of Headgate: its layout is {found!r}, this version's is"
            f" {LAYOUT_VERSION}; run the version that made it, or choose another --data-dir"
        )


@contextlib.contextmanager
def instance_lock(data: DataDirectory) -> Iterator[None]:
    """Held while an instance runs, gone with its process. Raises ConflictError where another one has it."""
    descriptor = os.open(data.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, 20).decode("ascii", "replace").strip()
            raise ConflictError(
                f"another instance runs in {data.root} (process {owner or 'unknown'}): stop it, or choose another"
                " --data-dir"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def private_folder(path: Path, account: Account | None) -> Path:
    """A folder (0700) of the server's account; made if there is none. Raises UnavailableError."""
    uid = os.geteuid() if account is None else account.uid
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
            if account is not None:
                os.chown(path, account.uid, account.gid)
        status = path.lstat()
        # Somebody may have been here first, in /tmp above all: a folder of theirs would give them the sockets.
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid:
            raise UnavailableError(f"{path} is not a folder of user {uid}: remove it, or choose another --data-dir")
        path.chmod(0o700)
    except OSError as error:
        raise disk_error(error, path) from error
    return path


def socket_folder(data: DataDirectory, account: Account | None, runtime_folder: Path | None = None) -> Path:
    """Where the embedded servers listen: in the data directory, or elsewhere where that path is too long.

    A socket's address has room for 107 bytes (unix(7)); ``runtime_folder`` is XDG_RUNTIME_DIR or /tmp.
    """
    inside = data.root / "sockets"
    if len(os.fsencode(inside)) + _LONGEST_SOCKET_NAME <= _SUN_PATH_BYTES:
        return private_folder(inside, account)
    name = hashlib.sha256(os.fsencode(data.root.resolve())).hexdigest()[:16]
    base = runtime_folder or Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp")  # noqa: S108 - the folder in it is checked
    outside = base / f"headgate-{os.geteuid()}-{name}"
    if len(os.fsencode(outside)) + _LONGEST_SOCKET_NAME > _SUN_PATH_BYTES:
        raise UnavailableError(f"{outside} is too long for a socket's address: set XDG_RUNTIME_DIR to a shorter folder")
    return private_folder(outside, account)
