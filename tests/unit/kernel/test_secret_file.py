"""Who else may read a file with keys, as PostgreSQL has it for its own."""

import os
from pathlib import Path

import pytest

from headgate.kernel.secret_file import require_secret

_SOMEBODY = 12345


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "keys"
    file.touch(mode=0o600)
    return file


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_the_owner_alone_may(file: Path, mode: int) -> None:
    file.chmod(mode)
    require_secret(file)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o644])
def test_nobody_else_may(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(PermissionError, match=f"mode {mode:04o}, not 0600"):
        require_secret(file)


def test_a_link_is_what_it_leads_to(file: Path) -> None:
    link = file.parent / "link"
    link.symlink_to(file)
    require_secret(link)
    file.chmod(0o644)
    with pytest.raises(PermissionError):
        require_secret(link)


@pytest.mark.parametrize(("owner", "mode", "is_taken"), [
    (0, 0o440, True), (0, 0o640, True), (0, 0o660, False), (0, 0o444, False), (_SOMEBODY, 0o440, False),
    (_SOMEBODY, 0o600, True), (_SOMEBODY + 1, 0o600, False),
])  # fmt: skip
def test_the_group_of_a_secret_of_roots_may_read_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, owner: int, mode: int, is_taken: bool
) -> None:
    file.chmod(mode)
    found = file.stat()
    status = os.stat_result([found.st_mode, *found[1:4], owner, *found[5:10]])
    monkeypatch.setattr(Path, "stat", lambda path, **_: status)
    monkeypatch.setattr(os, "geteuid", lambda: _SOMEBODY)
    if is_taken:
        require_secret(file)
        return
    with pytest.raises(PermissionError, match="0600"):
        require_secret(file)
