"""The file of a backup: a ZIP whose members are not compressed (the dump is), with the manifest last.

It is written to ``NAME.partial`` (0600) and renamed when it is whole and on the disk: a file with the final name is
a whole backup. Nothing that is in a part is ever written unencrypted beside it.
"""

import errno
import fcntl
import hashlib
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from headgate.backup.encryption import PartCipher, PassphraseKey, decrypted
from headgate.backup.manifest import MANIFEST, Manifest, Part, parse_manifest
from headgate.kernel.errors import ConflictError, UnavailableError, ValidationError

type Progress = Callable[[str, int], None]
"""Takes the name of a part, and how many more bytes of it are done."""

_READ_BYTES: Final = 1024 * 1024
_MANIFEST_BYTES_MAX: Final = 64 * 1024 * 1024
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class PartWriter:
    """One part. ``write`` takes plain bytes."""

    def __init__(self, member: IO[bytes], name: str, key: PassphraseKey | None, progress: Progress) -> None:
        self._member = member
        self._name = name
        self._cipher = None if key is None else PartCipher(key, name)
        self._digest = hashlib.sha256()
        self._size = 0
        self._progress = progress

    def write(self, plain: bytes) -> None:
        self._store(plain if self._cipher is None else self._cipher.update(plain))

    def finish(self) -> Part:
        if self._cipher is not None:
            self._store(self._cipher.finish())
        return Part(self._name, self._size, self._digest.hexdigest())

    def _store(self, stored: bytes) -> None:
        self._member.write(stored)
        self._digest.update(stored)
        self._size += len(stored)
        self._progress(self._name, len(stored))


class ArchiveWriter:
    """Of ``written_archive`` only."""

    def __init__(self, file: zipfile.ZipFile, key: PassphraseKey | None, progress: Progress) -> None:
        self._file = file
        self._key = key
        self._progress = progress
        self.parts: list[Part] = []

    @contextmanager
    def part(self, name: str) -> Iterator[PartWriter]:
        with self._file.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
            writer = PartWriter(member, name, self._key, self._progress)
            yield writer
            self.parts.append(writer.finish())

    def close_with(self, manifest: Manifest) -> None:
        sealed = manifest if self._key is None else self._key.seal(manifest)
        self._file.writestr(MANIFEST, sealed.to_json())


@contextmanager
def written_archive(path: Path, key: PassphraseKey | None, progress: Progress) -> Iterator[ArchiveWriter]:
    """The backup is at ``path`` when this ends without an error. Raises ConflictError, UnavailableError."""
    if path.exists():
        raise ConflictError(f"{path} exists: a backup overwrites no file; name another one with --output")
    draft = path.with_name(f"{path.name}.partial")
    try:
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _write_error(error, draft) from error
    is_ours = False
    try:
        with os.fdopen(descriptor, "r+b") as file:
            _lock(file, draft)
            _require_own(file, draft)
            is_ours = True
            # What an interrupted backup of the same name has left is of no use.
            os.fchmod(file.fileno(), 0o600)
            file.truncate()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                yield ArchiveWriter(archive, key, progress)
            file.flush()
            os.fsync(file.fileno())
            if path.exists():
                raise ConflictError(f"{path} was made meanwhile: a backup overwrites no file")
            # Under the lock: another backup of this name would empty the file before it has its name.
            draft.rename(path)
        fsync_folder(path.parent)
    except OSError as error:
        _remove(draft, is_ours)
        raise _write_error(error, path) from error
    except BaseException:
        _remove(draft, is_ours)
        raise


def _lock(file: IO[bytes], draft: Path) -> None:
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConflictError(f"another backup writes {draft}: wait for it, or name another file") from None


def _require_own(file: IO[bytes], draft: Path) -> None:
    """Raises ConflictError. In a folder where others may write, somebody can lay a file there first: theirs, who would
    read the keys in it, or one of ours under a second name. And the backup that had the lock before has renamed it."""
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink > 1:
        raise ConflictError(f"{draft} is not a file of this user's own: delete it, or name another file with --output")
    try:
        is_named = os.path.samestat(found, draft.lstat())
    except FileNotFoundError:
        is_named = False
    if not is_named:
        raise ConflictError(f"another backup wrote {draft} meanwhile: name another file")


def _remove(draft: Path, is_ours: bool) -> None:
    if is_ours:
        with suppress(OSError):
            draft.unlink()


def _write_error(error: OSError, path: Path) -> UnavailableError:
    if error.errno in _NO_ROOM:
        return UnavailableError(
            f"the disk is full: {path} cannot be written, and no backup was made; make room, or name a file on"
            " another disk with --output"
        )
    return UnavailableError(f"{path} cannot be written ({error.strerror}): name another file with --output")


def fsync_folder(folder: Path) -> None:
    """Makes names that were given in it durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Archive:
    """A backup that is read. Of ``opened_archive`` only."""

    def __init__(self, path: Path, file: zipfile.ZipFile, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._file = file

    def verify(self, progress: Progress) -> None:
        """Compares each part with its digest, and the members with the manifest. Raises ValidationError."""
        named = {part.name for part in self.manifest.parts} | {MANIFEST}
        found = self._file.namelist()
        if sorted(found) != sorted(named):
            raise ValidationError(
                f"{self.path} is not the backup that was made: it has the members {', '.join(sorted(found))}, its"
                f" manifest says {', '.join(sorted(named))}"
            )
        for part in self.manifest.parts:
            digest = hashlib.sha256()
            for piece in self._stored(part.name):
                digest.update(piece)
                progress(part.name, len(piece))
            if digest.hexdigest() != part.sha256:
                raise ValidationError(
                    f"{self.path} was changed or is damaged: {part.name} has SHA-256 {digest.hexdigest()[:12]}…,"
                    f" its manifest says {part.sha256[:12]}…; use another backup"
                )

    def read(self, name: str, key: PassphraseKey | None) -> Iterator[bytes]:
        """The plain bytes of a part. Raises ValidationError."""
        stored = self._stored(name)
        try:
            yield from stored if key is None else decrypted(stored, key, name)
        except ValidationError as error:
            raise ValidationError(f"{self.path}: {error.message}") from error

    def _stored(self, name: str) -> Iterator[bytes]:
        try:
            with self._file.open(name) as member:
                while piece := member.read(_READ_BYTES):
                    yield piece
        except (zipfile.BadZipFile, EOFError, KeyError, NotImplementedError, RuntimeError, OSError) as error:
            raise ValidationError(
                f"{self.path} was changed or is damaged: its part {name} cannot be read ({error}); use another backup"
            ) from error


@contextmanager
def opened_archive(path: Path) -> Iterator[Archive]:
    """Raises ValidationError: not a backup, or half of one."""
    try:
        file = zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise ValidationError(f"there is no file {path}") from error
    except (zipfile.BadZipFile, OSError) as error:
        half = " (an interrupted backup: it was never finished)" if path.name.endswith(".partial") else ""
        raise ValidationError(f"{path} is not a whole backup{half}: {error}; use another backup") from error
    with file:
        try:
            if file.getinfo(MANIFEST).file_size > _MANIFEST_BYTES_MAX:
                raise ValidationError("its manifest is too large")
            manifest = parse_manifest(file.read(MANIFEST))
        except (KeyError, zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
            raise ValidationError(f"{path} is not a whole backup: it has no manifest ({error})") from error
        except ValidationError as error:
            raise ValidationError(f"{path} cannot be used: {error.message}") from error
        yield Archive(path, file, manifest)
