"""Who the embedded servers run as, and that a child dies with its parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headgate.runtime.account import Account, can_reach, child_setup, server_account


@pytest.mark.parametrize(("mode", "reachable"), [(0o755, True), (0o711, True), (0o700, False), (0o750, False)])
def test_whether_another_user_gets_through(tmp_path: Path, mode: int, reachable: bool) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    folder.chmod(mode)
    stranger = Account(os.geteuid() + 1, os.getegid() + 1)
    open_above = all(parent.stat().st_mode & 0o001 for parent in folder.parents)
    assert can_reach(folder / "x", stranger) is (reachable and open_above)
    assert can_reach(folder / "x", Account(os.geteuid(), os.getegid()))


def test_only_root_becomes_somebody_else() -> None:
    account = server_account([Path("/")])
    assert (account is not None) is (os.geteuid() == 0)
    if account is not None:
        assert account.uid != 0
        assert account.capability is None


def test_a_program_in_a_closed_folder_is_found_by_the_account_that_root_becomes(tmp_path: Path) -> None:
    """As initdb looks for postgres: with access(2), which by itself ignores capabilities."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    program = closed / "program"
    program.touch(mode=0o755)
    account = server_account([program])
    if account is not None:
        assert account.capability is not None
    asked = "import os, sys; print(os.access(sys.argv[1], os.X_OK), os.getuid() != 0)"
    done = subprocess.run(
        [sys.executable, "-c", asked, program],
        preexec_fn=child_setup(signal.SIGKILL, account),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "True"]


_PARENT = """
import subprocess, sys, time, signal
from pathlib import Path
from headgate.runtime.account import child_setup, server_account
account = server_account([Path(sys.executable)])
child = subprocess.Popen(["sleep", "100"], preexec_fn=child_setup(signal.SIGKILL, account))
print(child.pid, flush=True)
time.sleep(100)
"""


def test_a_child_dies_with_its_parent_however_that_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        status = Path(f"/proc/{child}/status").read_text()
        if os.geteuid() == 0:
            assert "Uid:\t0" not in status, "root was not given up"
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 2
    while _lives(child):
        assert time.monotonic() < deadline, "the child outlived its parent"
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
