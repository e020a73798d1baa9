"""What a process counts has its place on the disk before it is counted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.multiprocess import mark_process_dead

from headgate.configuration.shared_metrics import forget_process, share_metrics
from headgate.kernel.errors import UnavailableError

_COUNTING = """
import sys
from pathlib import Path
from headgate.configuration.shared_metrics import share_metrics
share_metrics(Path(sys.argv[1]))
import addons.metrics, admin_api.health.record_metrics, headgate.worker.main
from prometheus_client import REGISTRY
for family in REGISTRY.collect():
    pass
addons.metrics.HELD.set(3)
"""
_ADDING_UP = """
import sys
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector
registry = CollectorRegistry()
MultiProcessCollector(registry, sys.argv[1])
print(registry.get_sample_value("headgate_proxy_held_requests"))
"""


def test_no_page_of_a_file_is_without_its_block(tmp_path: Path) -> None:
    """A page that is written for the first time when the disk is full would be a SIGBUS."""
    _python(_COUNTING, tmp_path)
    files = sorted(tmp_path.glob("*.db"))
    assert [file.stem.rpartition("_")[0] for file in files] == [
        "counter", "gauge_livemax", "gauge_livesum", "gauge_mostrecent", "histogram"
    ]  # fmt: skip
    assert all(file.stat().st_blocks * 512 >= file.stat().st_size == 1 << 20 for file in files)
    assert _python(_ADDING_UP, tmp_path) == "3.0\n", "the library counts in them"


def _forget_by_library(folder: Path, pid: int) -> None:
    mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call] # the library leaves it untyped


def test_of_a_process_that_has_ended_the_same_is_forgotten_as_by_the_library(tmp_path: Path) -> None:
    kept = []
    for forget in (forget_process, _forget_by_library):
        for mode in ("all", "liveall", "max", "livemax", "sum", "livesum", "mostrecent", "livemostrecent", "livemin"):
            for pid in (12, 123):
                (tmp_path / f"gauge_{mode}_{pid}.db").touch()
        (tmp_path / "counter_12.db").touch()
        forget(tmp_path, 12)
        kept.append(sorted(file.name for file in tmp_path.iterdir()))

    assert kept[0] == kept[1]
    assert "gauge_livesum_12.db" not in kept[0]


def test_a_disk_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    (tmp_path / f"counter_{os.getpid()}.db").symlink_to("/dev/full")
    with pytest.raises(UnavailableError, match=r"no room for metrics in .*; make room there"):
        share_metrics(tmp_path)


def _python(program: str, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PROMETHEUS_MULTIPROC_DIR"}
    environment["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    return subprocess.run(
        [sys.executable, "-c", program, str(folder)], env=environment, capture_output=True, text=True, check=True
    ).stdout
