"""What a start of ``headgate up`` with existing data takes: time until it is ready, processor time, memory.

``python -m benchmarks.start [--runs 5] [--workers 2] [--python PATH]``. Memory is PSS (proc(5)): a page that n
processes share counts 1/n for each. Idle: what all processes take of the processor in the 10 s that follow.
``--python``: of an environment that holds the wheels and nothing else. Libraries load some of what a developer's
environment has beside.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load.processes import memory_sizes_kib, tree, tree_processor_seconds

_SETTLE_SECONDS = 3.0
_IDLE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Start:
    ready_seconds: float
    processor_seconds: float
    pss_mib: float
    idle_share: float


def measure(folder: Path, workers: int, python: str) -> Start:
    """With the data in ``folder``, which are made where there are none."""
    runtime_file = folder / "runtime.json"
    command = [python, "-P", "-m", "headgate.cli.main", "up", "--data-dir", str(folder / "data")]
    command += ["--runtime-file", str(runtime_file), "--api-port", "0", "--proxy-port", "0"]
    with (folder / "log").open("ab") as log:
        started = time.monotonic()
        process = subprocess.Popen([*command, "--proxy-workers", str(workers)], stdout=log, stderr=log, cwd=folder)
    while not runtime_file.exists():
        if process.poll() is not None:
            sys.exit((folder / "log").read_text()[-2000:])
        time.sleep(0.01)
    ready = time.monotonic() - started
    spent = tree_processor_seconds(process.pid)
    time.sleep(_SETTLE_SECONDS)
    pss = sum(_pss_kib(pid) for pid in tree(process.pid)) / 1024
    before = tree_processor_seconds(process.pid)
    time.sleep(_IDLE_SECONDS)
    idle = (tree_processor_seconds(process.pid) - before) / _IDLE_SECONDS
    process.terminate()
    process.wait()
    return Start(ready, spent, pss, idle)


def _pss_kib(pid: int) -> int:
    try:
        return memory_sizes_kib(pid)["Pss"]
    except OSError:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        which = Path(folder), arguments.workers, arguments.python
        print(f"first start: {measure(*which).ready_seconds:.1f} s")
        starts = [measure(*which) for _ in range(arguments.runs)]
    for one in starts:
        print(
            f"ready after {one.ready_seconds:.2f} s, {one.processor_seconds:.2f} s of processor, {one.pss_mib:.0f} MiB,"
            f" idle {one.idle_share:.1%} of a core"
        )
    print(f"median: {statistics.median(one.ready_seconds for one in starts):.2f} s; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
