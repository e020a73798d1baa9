"""A file with the final name is a whole backup; half of one, or a changed one, is told."""

import fcntl
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import IO

import pytest
from msgspec.structs import replace

from headgate.backup import archive as archive_module
from headgate.backup.archive import Archive, ArchiveWriter, opened_archive, written_archive
from headgate.backup.encryption import PassphraseKey, new_key
from headgate.backup.manifest import DATABASE, KEYS
from headgate.kernel.errors import ConflictError, UnavailableError, ValidationError
from headgate.kernel.secrets import Secret
from tests.unit.backup.manifests import MANIFEST

_DUMP = bytes(range(256)) * 9000


def _quiet(name: str, size_bytes: int) -> None:
    """Nobody watches."""


def _fill(archive: ArchiveWriter) -> None:
    with archive.part(DATABASE) as part:
        part.write(_DUMP)
    with archive.part(KEYS) as part:
        part.write(b"keys")
    archive.close_with(replace(MANIFEST, parts=tuple(archive.parts)))


def _write(path: Path, key: PassphraseKey | None = None) -> None:
    with written_archive(path, key, _quiet) as archive:
        _fill(archive)


def _read(archive: Archive, name: str, key: PassphraseKey | None = None) -> bytes:
    return b"".join(archive.read(name, key))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    _write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["one.backup"]
    with opened_archive(path) as archive:
        archive.verify(_quiet)
        assert (_read(archive, DATABASE), _read(archive, KEYS)) == (_DUMP, b"keys")


def test_an_encrypted_one_shows_nothing_of_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    key = new_key(Secret("correct horse battery staple"))
    _write(path, key)
    assert bytes(range(64)) not in path.read_bytes()
    with opened_archive(path) as archive:
        archive.verify(_quiet)
        key.require_sealed(archive.manifest)
        assert _read(archive, DATABASE, key) == _DUMP


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    path.write_text("precious")
    with pytest.raises(ConflictError, match="overwrites no file"), written_archive(path, None, _quiet):
        pass
    assert path.read_text() == "precious"


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    with (
        pytest.raises(UnavailableError, match="away"),
        written_archive(path, None, _quiet) as archive,
        archive.part(DATABASE) as part,
    ):
        part.write(_DUMP)
        raise UnavailableError("the database is away")
    assert list(tmp_path.iterdir()) == []


def test_what_an_interrupted_one_left_is_replaced(tmp_path: Path) -> None:
    path, draft = tmp_path / "one.backup", tmp_path / "one.backup.partial"
    draft.write_bytes(b"x" * 5_000_000)
    draft.chmod(0o644)
    _write(path)
    assert not draft.exists()
    assert path.stat().st_mode & 0o777 == 0o600
    with opened_archive(path) as archive:
        archive.verify(_quiet)


def test_two_do_not_write_one_file(tmp_path: Path) -> None:
    draft = tmp_path / "one.backup.partial"
    with draft.open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ConflictError, match="another backup writes"):
            _write(tmp_path / "one.backup")
    assert draft.exists()


def test_a_file_with_another_name_or_owner_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others may write in the folder, they can lay a file there first, and would read what is in it."""
    path, draft, precious = tmp_path / "one.backup", tmp_path / "one.backup.partial", tmp_path / "precious"
    precious.write_text("kept")
    draft.hardlink_to(precious)
    with pytest.raises(ConflictError, match="not a file of this user's own"):
        _write(path)
    assert precious.read_text() == "kept"
    draft.unlink()
    draft.write_text("theirs")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ConflictError, match="not a file of this user's own"):
        _write(path)
    assert draft.read_text() == "theirs"
    assert not path.exists()


def test_a_finished_backup_is_not_emptied_by_one_that_waited_for_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second opens the file of the first, which gets its name before the second has the lock."""
    path, draft = tmp_path / "one.backup", tmp_path / "one.backup.partial"
    draft.write_text("whole")
    lock = archive_module._lock

    def lock_late(file: IO[bytes], name: Path) -> None:
        draft.rename(path)
        lock(file, name)

    monkeypatch.setattr(archive_module, "_lock", lock_late)
    with pytest.raises(ConflictError, match="meanwhile"):
        _write(path)
    assert path.read_text() == "whole"


def test_the_lock_is_held_until_the_file_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []
    rename = Path.rename

    def renamed(draft: Path, target: Path) -> Path:
        with draft.open("rb") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held.append(False)
            except BlockingIOError:
                held.append(True)
        return rename(draft, target)

    monkeypatch.setattr(Path, "rename", renamed)
    _write(tmp_path / "one.backup")
    assert held == [True]


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    """RLIMIT_FSIZE ends writes as a full disk does; a process of its own, as the limit cannot be lifted again."""
    program = (
        "import resource, sys; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from tests.unit.backup import test_archive as tests\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000000, 1000000))\n"
        "try: tests._write(Path(sys.argv[1]))\n"
        "except tests.UnavailableError as error: print(error.message)\n"
    )
    path = tmp_path / "one.backup"
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(Path(__file__).parents[3])],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(f"the disk is full: {path} cannot be written, and no backup was made; make room")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", [0, 100, 1_000_000, -1])
def test_half_a_file_is_told(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "one.backup"
    _write(path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValidationError, match="is not a whole backup"), opened_archive(path):
        pass


def test_a_changed_byte_is_told(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    _write(path)
    content = bytearray(path.read_bytes())
    content[500_000] ^= 1
    path.write_bytes(content)
    with opened_archive(path) as archive, pytest.raises(ValidationError, match="was changed or is damaged"):
        archive.verify(_quiet)


def test_another_member_is_told(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    _write(path)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("more", b"")
    with opened_archive(path) as archive, pytest.raises(ValidationError, match="is not the backup that was made"):
        archive.verify(_quiet)


def test_a_part_of_the_same_checksum_is_told(tmp_path: Path) -> None:
    """A ZIP's CRC-32 is no protection: a member that was replaced has one that fits."""
    path, other = tmp_path / "one.backup", tmp_path / "two.backup"
    _write(path)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            target.writestr(name, b"other keys" if name == KEYS else source.read(name))
    with opened_archive(other) as archive, pytest.raises(ValidationError, match=f"{KEYS} has SHA-256"):
        archive.verify(_quiet)


@pytest.mark.parametrize("name", ["nothing.backup", "."])
def test_what_is_no_file_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValidationError), opened_archive(tmp_path / name):
        pass


def test_any_zip_is_not_a_backup(tmp_path: Path) -> None:
    path = tmp_path / "one.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a", b"b")
    with pytest.raises(ValidationError, match="no manifest"), opened_archive(path):
        pass
