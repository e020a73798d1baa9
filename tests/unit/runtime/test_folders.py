"""The data directory: whose, which version's, who may enter."""

import errno
import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.runtime.account import Account
from headgate.runtime.folders import (
    disk_error,
    instance_lock,
    open_data_directory,
    private_folder,
    socket_folder,
)


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    return DataDirectory(tmp_path / "data")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_directory_lets_others_through_to_the_certificate_and_nowhere_else(data: DataDirectory) -> None:
    open_data_directory(data)
    assert _mode(data.root) == 0o711
    assert _mode(data.public) == 0o755
    assert _mode(data.logs) == 0o700
    open_data_directory(data)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (json.dumps({"layout": 99}), "another version of Headgate: its layout is 99"),
        (json.dumps({"layout": "1"}), "another version"),
        ("{}", "cannot be understood"),
        ("not json", "cannot be understood"),
        ("[]", "cannot be understood"),
    ],
)
def test_a_directory_of_another_version_is_refused(data: DataDirectory, text: str, says: str) -> None:
    open_data_directory(data)
    data.version_file.write_text(text)
    with pytest.raises(UnavailableError, match=says):
        open_data_directory(data)


def test_a_database_without_a_version_is_refused(data: DataDirectory) -> None:
    data.postgres.mkdir(parents=True)
    with pytest.raises(UnavailableError, match="does not say which version"):
        open_data_directory(data)


def test_a_full_disk_is_named(data: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.runtime.folders._LEAST_FREE_BYTES", 2**62)
    with pytest.raises(UnavailableError, match="the disk is full"):
        open_data_directory(data)


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EACCES, "cannot be written"),
        (errno.EROFS, "cannot be written"),
        (errno.EIO, "cannot be used"),
    ],
)
def test_what_a_disk_says_is_put_into_words(number: int, says: str) -> None:
    assert says in disk_error(OSError(number, os.strerror(number)), Path("/x")).message


def test_one_instance_a_directory(data: DataDirectory) -> None:
    open_data_directory(data)
    program = (
        "import sys; from pathlib import Path\n"
        "from headgate.configuration.data_directory import DataDirectory\n"
        "from headgate.runtime.folders import instance_lock\n"
        "with instance_lock(DataDirectory(Path(sys.argv[1]))): pass\n"
    )
    command = [sys.executable, "-c", program, str(data.root)]
    with instance_lock(data), pytest.raises(ConflictError, match=f"process {os.getpid()}"), instance_lock(data):
        pass
    with instance_lock(data):
        assert subprocess.run(command, capture_output=True, check=False).returncode != 0
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_link_or_a_file_in_the_place_of_a_private_folder_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "link").symlink_to(elsewhere)
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(UnavailableError, match="is not a folder of user"):
            private_folder(tmp_path / name, None)


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    theirs = Account(os.geteuid() + 1, os.getegid())
    (tmp_path / "ours").mkdir()
    with pytest.raises(UnavailableError, match="is not a folder of user"):
        private_folder(tmp_path / "ours", theirs)


def test_sockets_lie_in_the_data_directory_where_its_path_is_short(data: DataDirectory) -> None:
    open_data_directory(data)
    folder = socket_folder(data, None)
    assert folder == data.root / "sockets"
    assert _mode(folder) == 0o700


def test_sockets_lie_elsewhere_where_the_path_is_too_long_for_an_address(tmp_path: Path) -> None:
    """sun_path holds 107 bytes (unix(7)), whatever the file system allows."""
    data = DataDirectory(tmp_path / ("é" * 60) / "data")
    with tempfile.TemporaryDirectory(prefix="hg-", dir="/tmp") as name:  # the test's own folder is long, too
        runtime = Path(name)
        folder = socket_folder(data, None, runtime)
        assert folder.parent == runtime
        assert _mode(folder) == 0o700
        assert len(os.fsencode(folder / ".s.PGSQL.5432.lock")) <= 107
        assert socket_folder(data, None, runtime) == folder


def test_a_runtime_folder_that_is_too_long_itself_is_named(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path / ("d" * 100) / "data")
    with pytest.raises(UnavailableError, match="XDG_RUNTIME_DIR"):
        socket_folder(data, None, tmp_path / ("r" * 100))
