"""Who was being evaluated when a process died is still known afterwards."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headgate.policies.marker import Marker, Suspect, mark_of, note_death, read_mark

MARK = mark_of("org_a", "pol_a", 3)

CHILD = """
import os, signal, sys, time
from pathlib import Path
from headgate.policies.marker import Marker, mark_of
marker = Marker(Path(sys.argv[1]))
marker.begin(mark_of("org_a", "pol_a", 3))
if sys.argv[2] == "ends":
    marker.end()
print("evaluating", flush=True)
if sys.argv[2] == "crashes":
    os.kill(os.getpid(), signal.SIGSEGV)
time.sleep(60)
"""


def suspect_in(folder: Path) -> Suspect | None:
    [file] = folder.glob("evaluating-*")
    return read_mark(file.read_bytes())


def start(folder: Path, what: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(folder), what], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"evaluating\n"
    child.stdout.close()
    return child


def test_a_child_that_is_killed_in_the_middle_of_evaluating_leaves_the_name(tmp_path: Path) -> None:
    child = start(tmp_path, "evaluates")
    child.kill()
    child.wait()
    found = suspect_in(tmp_path)
    assert found is not None
    assert (found.org_id, found.policy_id, found.version) == ("org_a", "pol_a", 3)
    assert not found.is_certain  # somebody killed it: no proof


def test_a_child_that_dies_of_a_fault_convicts(tmp_path: Path) -> None:
    child = start(tmp_path, "crashes")
    assert child.wait() == -signal.SIGSEGV
    note_death(tmp_path, child.pid, signal.SIGSEGV)
    found = suspect_in(tmp_path)
    assert found is not None
    assert found.is_certain
    assert found.reason == "it was running when a process died of SIGSEGV"


def test_a_child_that_is_killed_between_evaluations_blames_nobody(tmp_path: Path) -> None:
    child = start(tmp_path, "ends")
    child.kill()
    child.wait()
    note_death(tmp_path, child.pid, signal.SIGKILL)
    assert suspect_in(tmp_path) is None


def test_what_ran_far_beyond_its_limit_is_certain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = Marker(tmp_path)
    now = 5_000_000_000
    monkeypatch.setattr("headgate.policies.marker.monotonic_ns", lambda: now)
    marker.begin(MARK)
    now += 1_500_000_000
    note_death(tmp_path, os.getpid(), signal.SIGKILL)
    found = suspect_in(tmp_path)
    marker.close()
    assert found is not None
    assert found.is_certain
    assert "running for 1.5 s" in found.reason


def test_an_orderly_end_leaves_nothing(tmp_path: Path) -> None:
    marker = Marker(tmp_path / "new folder")
    marker.begin(MARK)
    marker.end()
    marker.close()
    assert list((tmp_path / "new folder").iterdir()) == []
    assert (tmp_path / "new folder").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("page", [b"", b"\x01", b"\x01" * 256, b"\x01" + b"\xff" * 300])
def test_a_damaged_page_blames_nobody(page: bytes) -> None:
    assert read_mark(page) is None


def test_a_death_without_a_marker_is_no_error(tmp_path: Path) -> None:
    note_death(tmp_path, 1, signal.SIGSEGV)
