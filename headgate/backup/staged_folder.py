"""A data directory, or a part of one, that is built beside the one that it becomes, and moved there when it is whole.

Everything is built in ``restoring/`` (or ``upgrading/``) of the target. Then its ``commit.json`` says what is to be
moved where, and from then on the work is complete: whatever interrupts the moves, they are finished by the next run.
Without that file the next run starts anew. ``headgate up`` refuses a directory in which such a folder is
(``runtime.folders``).
"""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.backup.archive import fsync_folder
from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.atomic_file import replace_file
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.runtime.folders import disk_error

_ASIDE: Final = "before-"
_NOT_DATA: Final = frozenset({"restoring", "upgrading", "instance.lock", "lost+found"})
_NOT_MOVED: Final = frozenset({"commit.json", "sockets"})


class _Commit(Struct, frozen=True):
    name: str
    aside: str
    old: tuple[str, ...]
    new: tuple[str, ...]


class StagedFolder:
    """Of one piece of work on ``target``, in ``folder`` of it. The caller holds the target's lock."""

    def __init__(self, target: DataDirectory, folder: Path) -> None:
        self.target = target
        self.data = DataDirectory(folder)

    def finish_earlier(self) -> str | None:
        """Completes the moves of an interrupted run; returns the name that it was committed with. None: there was none,
        or it had not come that far, and what it had built is deleted. Raises UnavailableError."""
        commit = self._read_commit()
        try:
            if commit is None:
                shutil.rmtree(self.data.root, ignore_errors=True)
                if self.data.root.exists():
                    raise UnavailableError(f"{self.data.root} cannot be deleted: delete it, then run the command again")
                return None
            self._move(commit)
        except OSError as error:
            raise disk_error(error, self.target.root) from error
        return commit.name

    def require_empty(self) -> None:
        """Raises ConflictError."""
        held = self._held()
        if held:
            raise ConflictError(
                f"{self.target.root} is not empty (it has {', '.join(held[:5])}): a restore overwrites nothing. Name"
                " another folder with --data-dir, or use --replace, which keeps what is there in a folder"
                f" {_ASIDE}restore-…"
            )

    def commit(self, name: str, aside: str, old: Iterable[str] | None = None) -> Path | None:
        """Moves what was built into the target, and what was there before into ``aside`` (None: everything). Returns
        that folder; None: nothing was there. Raises UnavailableError."""
        held = self._held()
        moved = held if old is None else [one for one in old if one in held]
        new = sorted(one.name for one in self.data.root.iterdir() if one.name not in _NOT_DATA | _NOT_MOVED)
        commit = _Commit(name, f"{_ASIDE}{aside}", tuple(moved), tuple(new))
        try:
            document = {"name": name, "aside": commit.aside, "old": moved, "new": new}
            os.sync()  # the database's files are on the disk before the file that says so
            replace_file(self._commit_file, json.dumps(document).encode(), mode=0o600)
            fsync_folder(self.data.root)
            self._move(commit)
        except OSError as error:
            raise disk_error(error, self.target.root) from error
        return self.target.root / commit.aside if moved else None

    @property
    def _commit_file(self) -> Path:
        return self.data.root / "commit.json"

    def _held(self) -> list[str]:
        names: Iterable[str] = (one.name for one in self.target.root.iterdir())
        return sorted(one for one in names if one not in _NOT_DATA and not one.startswith(_ASIDE))

    def _read_commit(self) -> _Commit | None:
        try:
            document = json.loads(self._commit_file.read_text("utf-8"))
            return _Commit(document["name"], document["aside"], tuple(document["old"]), tuple(document["new"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UnavailableError(f"{self._commit_file} cannot be read: {error!r}") from error

    def _move(self, commit: _Commit) -> None:
        """Each move is done once, in whichever run."""
        root, aside = self.target.root, self.target.root / commit.aside
        if commit.old:
            aside.mkdir(mode=0o700, exist_ok=True)
        for name in commit.old:
            if not (aside / name).exists():
                (root / name).rename(aside / name)
        for name in commit.new:
            if (self.data.root / name).exists():
                (self.data.root / name).rename(root / name)
        fsync_folder(root)
        shutil.rmtree(self.data.root)
        fsync_folder(root)
