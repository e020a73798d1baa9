"""What the data directory holds that is not in the database: keys, certificates, the memory of what was signed.

Without these files a database alone is of little use: its secrets do not open, agents do not trust the proxy's
certificates, and checkpoints cannot be continued. They travel as one tar file, whose names are those of the data
directory's layout (``configuration.data_directory``), wherever a setting said that they are.
"""

import io
import os
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from headgate.configuration.data_directory import DataDirectory
from headgate.configuration.settings import Settings
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.kernel.secret_file import require_secret
from headgate.vault.stored_keys import parse_stored_keys

MASTER_KEYS: Final = DataDirectory(Path()).master_keys.as_posix()
SIGNING_KEYS: Final = DataDirectory(Path()).signing_keys.as_posix()
_LARGEST_BYTES: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, repr=False)
class KeyFile:
    """``name``: its path below the data directory."""

    name: str
    content: bytes

    def __repr__(self) -> str:
        return f"KeyFile({self.name!r})"


def read_signed_memory(data: DataDirectory) -> list[KeyFile]:
    """To be read before the snapshot of the database: a checkpoint that is remembered and not in the database would
    end signing after a restore. Raises UnavailableError."""
    return list(_files_below(data.root, [data.signed_checkpoints]))


def read_key_files(settings: Settings) -> list[KeyFile]:
    """All others. Raises UnavailableError."""
    data = settings.data
    files = list(_files_below(data.root, [data.authority, data.issuer, data.catalogues, data.secrets_file]))
    for place, given in (
        (data.master_keys, settings.master_keys_file),
        (data.signing_keys, settings.signing_keys_file),
    ):
        source = given or place
        if given is not None or place.exists():
            files.append(KeyFile(place.relative_to(data.root).as_posix(), _read(source)))
    if settings.signing_keys is not None:
        files = [one for one in files if one.name != SIGNING_KEYS]
        files.append(KeyFile(SIGNING_KEYS, "\n".join(settings.signing_keys.reveal().split()).encode() + b"\n"))
    return files


def holds_signing_keys(files: Iterable[KeyFile]) -> bool:
    return any(one.name == SIGNING_KEYS for one in files)


def require_master_keys(needed: Iterable[str], files: Iterable[KeyFile]) -> None:
    """Raises UnavailableError: ``files`` lack a master key that stored secrets are encrypted under."""
    held: set[str] = set()
    for file in files:
        if file.name == MASTER_KEYS:
            held = set(parse_stored_keys(file.content, file.name).entries)
    missing = sorted(set(needed) - held)
    if missing:
        raise UnavailableError(
            f"stored secrets are encrypted under the master keys {', '.join(missing)}, which are not here: run the"
            " command where they are (HEADGATE_MASTER_KEYS_FILE, or the data directory of the instance)"
        )


def _files_below(root: Path, paths: Iterable[Path]) -> Iterator[KeyFile]:
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path] if path.exists() else []:
            if file.is_file() and not file.is_symlink():
                yield KeyFile(file.relative_to(root).as_posix(), _read(file))


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_mode & 0o077 == 0:
            require_secret(path)
        return path.read_bytes()
    except OSError as error:
        raise UnavailableError(f"{path} cannot be read ({error.strerror or error}): run as its owner") from error


def _is_written(path: PurePosixPath) -> bool:
    """Whether a backup may hold this file: anything else that stood in a data directory would be obeyed there, such as
    ``commit.json`` of the restore itself."""
    data = DataDirectory(Path())
    files = (data.secrets_file, data.master_keys, data.signing_keys)
    folders = (data.authority, data.issuer, data.catalogues, data.signed_checkpoints)
    return ".." not in path.parts and (
        any(path == PurePosixPath(one) for one in files) or any(PurePosixPath(one) in path.parents for one in folders)
    )


def packed(files: Iterable[KeyFile]) -> bytes:
    """As a tar file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for file in files:
            entry = tarfile.TarInfo(file.name)
            entry.size = len(file.content)
            entry.mode = 0o600
            archive.addfile(entry, io.BytesIO(file.content))
    return buffer.getvalue()


def unpacked(pieces: Iterable[bytes]) -> list[KeyFile]:
    """Raises ValidationError: not such a tar file, or with names that no backup has."""
    content = bytearray()
    for piece in pieces:
        content += piece
        if len(content) > _LARGEST_BYTES:
            raise ValidationError("the keys of this backup are larger than any that Headgate writes")
    files: list[KeyFile] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for entry in archive:
                # Of a link, tarfile looks for what it leads to; of a sparse file, it fills the gaps.
                member = archive.extractfile(entry) if entry.isreg() and not entry.issparse() else None
                if member is None or not _is_written(PurePosixPath(entry.name)):
                    raise ValidationError(f"the keys of this backup hold {entry.name!r}, which Headgate does not write")
                files.append(KeyFile(entry.name, member.read()))
    except tarfile.TarError as error:
        raise ValidationError(f"the keys of this backup cannot be read: {error}") from error
    return files


def write_key_files(root: Path, files: Iterable[KeyFile]) -> None:
    """Below ``root``: folders 0700, files 0600, on the disk when this returns. Raises OSError."""
    for file in files:
        path = root / file.name
        for folder in reversed([one for one in path.parents if one.is_relative_to(root) and one != root]):
            folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as target:
            target.write(file.content)
            target.flush()
            os.fsync(target.fileno())
