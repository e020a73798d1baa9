"""``headgate masker`` as it is started: alone at its spool, of low priority, and gone with whom it runs beside."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from headgate.kernel.secrets import Secret
from headgate.traffic.spool_reader import has_masker, only_masker
from headgate.worker.masker import NOT_NEEDED, MaskerSettings, run

ROOT = Path(__file__).parents[3]


def settings(cluster: Any, folder: Path, **changes: Any) -> MaskerSettings:
    return MaskerSettings(Secret(cluster.dsn("headgate_proxy")), folder, **changes)


async def test_a_second_one_ends_at_once(cluster: Any, tmp_path: Path) -> None:
    with only_masker(tmp_path / "captures") as is_only:
        assert is_only
        assert await run(settings(cluster, tmp_path)) == NOT_NEEDED


async def test_beside_somebody_who_is_gone_it_ends_at_once(cluster: Any, tmp_path: Path) -> None:
    assert await run(settings(cluster, tmp_path, beside=1 << 22)) == 0
    assert not (tmp_path / "captures" / "masker.lock").exists()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_parent_and_works_at_low_priority(cluster: Any, tmp_path: Path, end: signal.Signals) -> None:
    """The parent is a process of its own, which starts the command as a proxy does and is then ended."""
    parent_program = """
import os, subprocess, sys, time
command = [sys.executable, "-P", "-m", "headgate.cli.main", "masker", "--beside", str(os.getpid())]
print(subprocess.Popen(command).pid, flush=True)
time.sleep(120)
"""
    environment = os.environ | {
        "HEADGATE_PROXY_DATABASE_URL": cluster.dsn("headgate_proxy"),
        "HEADGATE_DATA_DIR": str(tmp_path),
    }
    parent = subprocess.Popen(
        [sys.executable, "-c", parent_program], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    wait_until(lambda: has_masker(tmp_path / "captures"))
    assert os.getpriority(os.PRIO_PROCESS, pid) == 19
    parent.send_signal(end)
    parent.wait(30)
    parent.stdout.close()
    wait_until(lambda: not has_masker(tmp_path / "captures"))


def wait_until(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
