"""The spool: nothing in clear, nothing twice, and what is lost is counted."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headgate.kernel.clock import system_clock
from headgate.kernel.errors import UnavailableError
from headgate.traffic import spool_reader, spool_writer
from headgate.traffic.model import Loss
from headgate.traffic.segment import DamagedError, frame_owners
from headgate.traffic.spool_reader import (
    Contents,
    ended_processes,
    files_under_keys,
    finished_segments,
    is_empty,
    lost_with,
    read_segment,
)
from headgate.traffic.spool_writer import SpoolWriter
from headgate.traffic.wire import encode_captured
from headgate.vault.master_keys import create_master_keys, load_master_keys, store_master_keys
from headgate.vault.service import Vault
from tests.unit.traffic.samples import ORG, sample, vault_in

SECRET = b"a very secret sentence"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_reader, "_SETTLING_SECONDS", -1.0)
    monkeypatch.setattr(spool_writer, "_LOOK_SECONDS", 0.0)


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return vault_in(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "captures"


def writer_in(folder: Path, vault: Vault, **options: int) -> tuple[SpoolWriter, dict[Loss, int]]:
    lost: dict[Loss, int] = {}

    def count(cause: Loss, exchanges: int) -> None:
        lost[cause] = lost.get(cause, 0) + exchanges

    return SpoolWriter(folder, vault, system_clock, lost=count, **options), lost


def put(writer: SpoolWriter, *bodies: bytes, org_id: str = ORG) -> None:
    for _ in bodies:
        writer.begin(org_id)
    writer.write([(org_id, encode_captured(sample(body=body, org_id=org_id))) for body in bodies])


def read_all(folder: Path, vault: Vault) -> Contents:
    """As the masker does, without a database: finished files, then those of ended processes, then their ends."""
    found = Contents()
    for path in finished_segments(folder):
        contents = read_segment(path, vault)
        found.exchanges += contents.exchanges
        found.losses += contents.losses
        path.unlink()
    for process in ended_processes(folder):
        settled: dict[str, int] = {}
        for path in process.unfinished:
            contents = read_segment(path, vault)
            found.exchanges += contents.exchanges
            found.losses += contents.losses
            settled |= contents.settled
            path.unlink()
        found.losses += lost_with(process, settled)
        process.counts.unlink()
    return found


def bodies(found: Contents) -> list[bytes]:
    return [one.request.body or b"" for one in found.exchanges]


def losses(found: Contents) -> dict[Loss, int]:
    return {one.cause: one.exchanges for one in found.losses}


def test_a_process_that_captured_nothing_leaves_nothing_for_a_masker(folder: Path, vault: Vault) -> None:
    writer, _ = writer_in(folder, vault)
    writer.write([])
    writer.close()
    assert is_empty(folder)


def test_what_is_written_is_read_and_is_nowhere_in_clear(folder: Path, vault: Vault) -> None:
    writer, lost = writer_in(folder, vault)
    put(writer, SECRET, b"two")
    for file in folder.iterdir():
        assert file.stat().st_mode & 0o077 == 0
        assert SECRET not in file.read_bytes()
    assert folder.stat().st_mode & 0o077 == 0
    assert read_all(folder, vault).exchanges == [], "its process is still writing"
    writer.finish()
    assert bodies(read_all(folder, vault)) == [SECRET, b"two"]
    writer.close()
    found = read_all(folder, vault)
    assert (found.exchanges, found.losses, lost) == ([], [], {})
    assert list(folder.iterdir()) == []


def test_a_process_that_is_killed_leaves_what_it_wrote_and_a_count_of_the_rest(tmp_path: Path, folder: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from tests.unit.traffic.test_spool import put, writer_in
from tests.unit.traffic.samples import ORG, vault_in
folder = Path(sys.argv[1])
writer, _ = writer_in(folder, vault_in(folder.parent))
put(writer, b"one", b"two")
writer.finish()
put(writer, b"three")
writer.begin(ORG)
writer.begin(ORG)
writer.begin("org_other")
os.kill(os.getpid(), 9)
"""
    root = Path(__file__).parents[3]
    ended = subprocess.run([sys.executable, "-c", program, str(folder)], cwd=root, check=False, capture_output=True)
    assert ended.returncode == -9, ended.stderr
    found = read_all(folder, vault_in(tmp_path))
    assert bodies(found) == [b"one", b"two", b"three"]
    assert {one.org_id: (one.cause, one.exchanges) for one in found.losses} == {
        ORG: (Loss.PROCESS_ENDED, 2),
        "org_other": (Loss.PROCESS_ENDED, 1),
    }


def test_a_frame_that_was_cut_off_counts_as_lost(folder: Path, vault: Vault) -> None:
    writer, _ = writer_in(folder, vault)
    put(writer, b"one", b"two")
    (path,) = folder.glob("*.open")
    data = path.read_bytes()
    process_is_gone(writer)
    path.write_bytes(data[:-5])
    counts = next(folder.glob("*.counts"))
    # It was killed between writing and saying so.
    counts.write_bytes(counts.read_bytes()[:56] + bytes(8))
    found = read_all(folder, vault)
    assert bodies(found) == [b"one"]
    assert losses(found) == {Loss.PROCESS_ENDED: 1}


def process_is_gone(writer: SpoolWriter) -> None:
    """Its locks go with it."""
    if writer._segment is not None:
        os.close(writer._segment.descriptor)
    if writer._tallies is not None:
        writer._tallies.close()


def test_without_a_key_nothing_is_written_and_all_is_counted(folder: Path, tmp_path: Path) -> None:
    vault = vault_in(tmp_path)
    keys = vault.keys_file.read_text()
    vault.keys_file.write_text("not keys")
    writer, lost = writer_in(folder, vault)
    put(writer, SECRET, b"two")
    assert lost == {Loss.KEY_MISSING: 2}
    assert not list(folder.glob("*.open"))
    vault.keys_file.write_text(keys)
    put(writer, b"three")
    writer.finish()
    found = read_all(folder, vault)
    assert bodies(found) == [b"three"]
    assert losses(found) == {Loss.KEY_MISSING: 2}


def test_a_key_that_has_gone_leaves_the_file_for_later(folder: Path, vault: Vault, tmp_path: Path) -> None:
    writer, _ = writer_in(folder, vault)
    put(writer, b"one")
    writer.finish()
    (path,) = finished_segments(folder)
    other = Vault(tmp_path / "other.json")
    create_master_keys(other.keys_file)
    with pytest.raises(UnavailableError):
        read_segment(path, other)
    assert bodies(read_all(folder, vault)) == [b"one"]


@pytest.mark.parametrize("at", [3, 30, 60, -200, -1])
def test_a_changed_byte_never_becomes_an_exchange(folder: Path, vault: Vault, at: int) -> None:
    writer, _ = writer_in(folder, vault)
    put(writer, b"one")
    writer.finish()
    (path,) = finished_segments(folder)
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    try:
        contents = read_segment(path, vault)
    except (DamagedError, UnavailableError):
        return
    assert contents.exchanges == []


def test_a_file_under_another_name_and_a_frame_of_another_file_do_not_open(folder: Path, vault: Vault) -> None:
    writer, _ = writer_in(folder, vault)
    put(writer, b"one")
    writer.finish()
    (path,) = finished_segments(folder)
    renamed = path.rename(path.with_name("1-other-000001.ready"))
    with pytest.raises(DamagedError):
        read_segment(renamed, vault)
    assert list(frame_owners(renamed.read_bytes())) == [(ORG, 1)]


def test_a_full_spool_is_left_alone_and_what_does_not_fit_is_counted(folder: Path, vault: Vault) -> None:
    writer, lost = writer_in(folder, vault, limit_bytes=50_000)
    for number in range(20):
        put(writer, bytes([number]) * 5_000)
    writer.finish()
    assert sum(file.stat().st_size for file in folder.iterdir()) < 65_000
    found = read_all(folder, vault)
    assert 5 <= len(found.exchanges) < 20
    assert sum(one.exchanges for one in found.losses) == lost[Loss.SPOOL_FULL] == 20 - len(found.exchanges)
    put(writer, b"there is room again")
    writer.finish()
    assert bodies(read_all(folder, vault)) == [b"there is room again"]


def test_a_disk_that_has_gone_costs_what_was_on_it_and_no_more(folder: Path, vault: Vault) -> None:
    writer, lost = writer_in(folder, vault)
    put(writer, b"one", b"two")
    shutil.rmtree(folder)
    put(writer, b"three")
    writer.finish()
    found = read_all(folder, vault)
    assert bodies(found) == [b"three"]
    assert losses(found) == lost == {Loss.SPOOL_GONE: 2}


def test_a_folder_that_cannot_be_made_stops_nobody(tmp_path: Path, vault: Vault) -> None:
    (tmp_path / "captures").write_text("a file stands there")
    writer, lost = writer_in(tmp_path / "captures", vault)
    put(writer, b"one")
    assert lost == {Loss.SPOOL_GONE: 1}
    (tmp_path / "captures").unlink()
    put(writer, b"two")
    writer.finish()
    found = read_all(tmp_path / "captures", vault)
    assert bodies(found) == [b"two"]
    assert losses(found) == {Loss.SPOOL_GONE: 1}


def test_a_disk_without_room_costs_what_does_not_fit(folder: Path, vault: Vault) -> None:
    """/dev/full in the place of the file that is being written: every write is ENOSPC."""
    writer, lost = writer_in(folder, vault)
    put(writer, b"one")
    assert writer._segment is not None
    kept = os.dup(writer._segment.descriptor)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._segment.descriptor)
    os.close(full)
    put(writer, b"two")
    os.close(kept)
    assert lost == {Loss.SPOOL_GONE: 1}
    put(writer, b"three")
    writer.finish()
    found = read_all(folder, vault)
    assert bodies(found) == [b"one", b"three"]
    assert losses(found) == {Loss.SPOOL_GONE: 1}


def test_whoever_captures_nothing_leaves_nothing(folder: Path, vault: Vault) -> None:
    writer, _ = writer_in(folder, vault)
    writer.finish()
    writer.close()
    assert not folder.exists()


def test_after_a_disk_has_gone_the_counts_go_on(folder: Path, vault: Vault) -> None:
    """Three begun; one written and gone with the disk, one written afterwards, one never."""
    writer, _ = writer_in(folder, vault)
    writer.begin(ORG)
    writer.begin(ORG)
    put(writer, b"one")
    shutil.rmtree(folder)
    writer.write([(ORG, encode_captured(sample(body=b"two")))])
    process_is_gone(writer)
    found = read_all(folder, vault)
    assert bodies(found) == [b"two"]
    assert losses(found) == {Loss.SPOOL_GONE: 1, Loss.PROCESS_ENDED: 1}


def test_only_one_masks(folder: Path) -> None:
    with spool_reader.only_masker(folder) as first, spool_reader.only_masker(folder) as second:
        assert (first, second) == (True, False)
    with spool_reader.only_masker(folder) as again:
        assert again


def test_what_was_told_is_told_again_under_the_same_name(folder: Path, vault: Vault) -> None:
    writer, _ = writer_in(folder, vault)
    writer.begin(ORG)
    writer.lose(ORG, Loss.QUEUE_FULL)
    writer.write(())
    writer.finish()
    (path,) = finished_segments(folder)
    first, second = read_segment(path, vault).losses, read_segment(path, vault).losses
    assert first == second
    assert (first[0].cause, first[0].exchanges) == (Loss.QUEUE_FULL, 1)
    assert first[0].since <= first[0].until <= system_clock()
    assert time.time() - first[0].until.timestamp() < 60


def test_which_master_keys_the_files_need(folder: Path, vault: Vault) -> None:
    writer, _ = writer_in(folder, vault)
    put(writer, SECRET)
    writer.finish()
    old = vault.current_key_id
    made, new = load_master_keys(vault.keys_file).with_new_key()
    store_master_keys(vault.keys_file, made.with_current(new))
    put(writer, SECRET)
    (folder / "torn-000001.ready").write_bytes(b"HGSPOOL1\x00")
    assert files_under_keys(folder) == {old: 1, new: 1}
    writer.close()
    assert files_under_keys(folder / "nowhere") == {}
