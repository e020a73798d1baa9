"""Which folder a restore is made into where the caller names none."""

from pathlib import Path

import pytest

from headgate.cli.local_data import find_data, find_restore_target
from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.runtime.own_data import make_own


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder, and a user without an instance."""
    monkeypatch.delenv("HEADGATE_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def _used(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "version.json").write_text("{}")
    make_own(DataDirectory(folder))
    return folder


def test_a_folder_that_came_with_the_current_one_is_not_used(here: Path) -> None:
    of_user = _used(here.parent / "xdg" / "headgate")
    (_used(here / ".headgate") / "mark").unlink()
    assert find_restore_target(None).root == of_user
    assert find_data(None, None).root == of_user
    (of_user / "version.json").unlink()
    with pytest.raises(UnavailableError, match="this user has started no instance there"):
        find_data(None, None)


def test_the_instance_of_make_up_comes_before_that_of_the_user(here: Path) -> None:
    of_user = _used(here.parent / "xdg" / "headgate")
    assert find_restore_target(None).root == of_user
    of_clone = _used(here / ".headgate")
    assert find_restore_target(None).root == of_clone


def test_an_interrupted_restore_is_found_again(here: Path) -> None:
    _used(here.parent / "xdg" / "headgate")
    (_used(here / ".headgate") / "restoring").mkdir()
    (here / ".headgate" / "version.json").unlink()
    assert find_restore_target(None).root == here / ".headgate"


def test_a_named_folder_need_not_exist(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _used(here / ".headgate")
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(here / "variable"))
    assert find_restore_target(None).root == here / "variable"
    assert find_restore_target(Path("option")).root == here / "option"


def test_without_an_instance_the_folder_has_to_be_named(here: Path) -> None:
    with pytest.raises(ValidationError) as refused:
        find_restore_target(None)
    assert "--data-dir .headgate is the one of make up" in refused.value.message
    assert not (here / ".headgate").exists()
