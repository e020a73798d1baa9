"""A restore that is interrupted at any move ends, with the next run, as one that was not."""

from pathlib import Path

import pytest

from headgate.backup.staged_folder import StagedFolder
from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.runtime.folders import open_data_directory

_OLD = {"postgres": "old", "ca": "old", "left": "old"}
_NEW = {"postgres": "new", "ca": "new", "vault": "new"}


class _Killed(BaseException):
    """As kill -9: nothing after it runs."""


def _content(folder: Path) -> dict[str, str]:
    return {one.name: (one / "file").read_text() for one in folder.iterdir() if (one / "file").exists()}


def _fill(folder: Path, content: dict[str, str]) -> None:
    for name, text in content.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text(text)


def _staged(tmp_path: Path, old: dict[str, str]) -> StagedFolder:
    _fill(tmp_path, old)
    staged = StagedFolder(DataDirectory(tmp_path), tmp_path / "restoring")
    staged.data.root.mkdir()
    _fill(staged.data.root, _NEW)
    return staged


def test_it_becomes_the_data_directory(tmp_path: Path) -> None:
    staged = _staged(tmp_path, {})
    assert staged.commit("bkp_1", "restore-T") is None
    assert _content(tmp_path) == _NEW
    assert not staged.data.root.exists()


def test_what_was_there_is_kept_aside(tmp_path: Path) -> None:
    aside = _staged(tmp_path, _OLD).commit("bkp_1", "restore-T")
    assert aside == tmp_path / "before-restore-T"
    assert (_content(tmp_path), _content(aside)) == (_NEW, _OLD)


@pytest.mark.parametrize("moves", range(7))
def test_an_interrupted_move_is_finished(tmp_path: Path, moves: int, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = _staged(tmp_path, _OLD)
    rename = Path.rename
    left = [moves]

    def rename_or_die(path: Path, target: Path) -> Path:
        if path.parent in (tmp_path, staged.data.root):
            if not left[0]:
                raise _Killed
            left[0] -= 1
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename_or_die)
        try:
            staged.commit("bkp_1", "restore-T")
        except _Killed:
            with pytest.raises(UnavailableError, match=r"a restore into .* was interrupted"):
                open_data_directory(DataDirectory(tmp_path))
    again = StagedFolder(DataDirectory(tmp_path), tmp_path / "restoring")
    finished = again.finish_earlier()
    assert finished == ("bkp_1" if moves < 6 else None)
    assert (_content(tmp_path), _content(tmp_path / "before-restore-T")) == (_NEW, _OLD)
    assert not again.data.root.exists()


def test_only_a_part_is_replaced(tmp_path: Path) -> None:
    staged = _staged(tmp_path, _OLD)
    aside = staged.commit("PostgreSQL 18", "upgrade-T", ["postgres", "ca", "vault"])
    assert aside is not None
    assert _content(tmp_path) == _NEW | {"left": "old"}
    assert _content(aside) == {"postgres": "old", "ca": "old"}


def test_one_that_was_not_complete_is_deleted(tmp_path: Path) -> None:
    staged = _staged(tmp_path, {})
    assert staged.finish_earlier() is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    staged = _staged(tmp_path, {"ca": "old"})
    with pytest.raises(ConflictError, match=r"is not empty \(it has ca\)"):
        staged.require_empty()


@pytest.mark.parametrize("name", ["instance.lock", "lost+found", "before-restore-T"])
def test_what_is_no_data_does_not_count(tmp_path: Path, name: str) -> None:
    staged = _staged(tmp_path, {name: "-"})
    staged.require_empty()


def test_a_damaged_commit_is_told(tmp_path: Path) -> None:
    staged = _staged(tmp_path, {})
    (staged.data.root / "commit.json").write_text("{")
    with pytest.raises(UnavailableError, match="cannot be read"):
        staged.finish_earlier()
