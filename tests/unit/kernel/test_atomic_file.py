"""Files that are replaced: whole, with the rights that were asked for, and nothing left beside them."""

import os
import stat
from pathlib import Path

import pytest

from headgate.kernel.atomic_file import replace_file


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_rights_are_those_asked_for_whatever_the_umask_and_the_old_file(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o666)
    before = os.umask(0o077)
    try:
        replace_file(path, b"new", mode=mode)
    finally:
        os.umask(before)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old", mode=0o600)
    with pytest.raises(TypeError):
        replace_file(path, "not bytes", mode=0o600)  # type: ignore[arg-type] # the failure under test
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "file"
    victim.write_bytes(b"untouched")
    path.symlink_to(victim)
    replace_file(path, b"new", mode=0o600)
    assert victim.read_bytes() == b"untouched"
    assert not path.is_symlink()
