"""Whether an instance stays as large as it is: memory and open files of each part under steady mixed load.

``python -m benchmarks.soak [--minutes 12] [--per-second 40]``; the figures are of an hour. Of each part: the mean of a
twelfth of the time, after the first sixth, beside that of the last twelfth. Asked: at most 2 % more memory, no more
files. Memory is PSS (proc(5)) without what is shared as memory: the buffers of PostgreSQL, which fill up to their size,
stand in a row of their own. The content policies of a new installation are on.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.load.instance import Instance, process, start_instance, switch_content_policies
from benchmarks.load.mixed import HELD_PATH, Mixed
from benchmarks.load.processes import memory_sizes_kib, tree
from headgate.demo.certificates import write_service_certificate

_SAMPLE_SECONDS = 5.0
_RULES = f"""package soak

deny if input.http.method == "DELETE"

require_approval if input.http.path == "{HELD_PATH}"

allow if input.tool in {{"websocket", "crm"}}
"""


@dataclass(frozen=True, slots=True)
class Sample:
    memory_kib: int
    shared_kib: int
    files: int


def sample(pids: list[int]) -> Sample:
    """Of these processes and their children together; those that have ended meanwhile do not count."""
    memory_kib = shared_kib = files = 0
    for pid in {one for parent in pids for one in tree(parent)}:
        with suppress(OSError):
            sizes = memory_sizes_kib(pid)
            memory_kib += sizes["Pss"] - sizes["Pss_Shmem"]
            shared_kib += sizes["Pss_Shmem"]
            files += len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return Sample(memory_kib, shared_kib, files)


def sample_all(pids: dict[str, list[int]]) -> dict[str, Sample]:
    return {part: sample(of_part) for part, of_part in pids.items()}


def row(name: str, first: float, last: float) -> str:
    more = (last - first) / first if first else 0.0
    return f"  {name:<26}{first:>10.1f}{last:>10.1f}{more:>9.1%}"


def print_rows(samples: list[dict[str, Sample]]) -> None:
    """``samples``: of the whole time, in order."""
    twelfth = max(1, len(samples) // 12)
    first, last = samples[2 * twelfth : 3 * twelfth], samples[-twelfth:]
    print(f"  {'':<26}{'first':>10}{'last':>10}{'more':>9}")
    for part in samples[-1]:
        for figure, name, unit in (
            ("memory_kib", "MiB", 1024),
            ("shared_kib", "shared MiB", 1024),
            ("files", "files", 1),
        ):
            means = [statistics.mean(getattr(one[part], figure) for one in some) / unit for some in (first, last)]
            if max(means):
                print(row(f"{part}, {name}", *means))


def measure(instance: Instance, load: Mixed, client: "subprocess.Popen[str]") -> list[dict[str, Sample]]:
    pids: dict[str, list[int]] = instance.runtime["pids"]
    samples: list[dict[str, Sample]] = []
    ends = time.monotonic() + load.seconds
    while time.monotonic() < ends - _SAMPLE_SECONDS and client.poll() is None:
        time.sleep(_SAMPLE_SECONDS)
        samples.append(sample_all(pids))
        left = max(0, round((ends - time.monotonic()) / 60))
        print(f"\r{left} minutes left ", end="", file=sys.stderr, flush=True)
    return samples


def prepare(instance: Instance) -> None:
    """Rules of the load, and the content policies of a new installation on."""
    api = instance.api
    api.post("/admin/policies", json={"name": "Soak", "rego_policy": _RULES, "priority": 0}).raise_for_status()
    seeded: list[dict[str, Any]] = api.get("/admin/nlp-policies").raise_for_status().json()["data"]
    switch_content_policies(api, [one["id"] for one in seeded], on=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--per-second", type=float, default=40.0, help="calls a second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        root, certificate = write_service_certificate(folder, "127.0.0.1")
        module = [sys.executable, "-P", "-m"]
        ports = []
        for upstream in ("upstream", "socket_upstream"):
            started = stack.enter_context(process([*module, f"benchmarks.load.{upstream}", str(certificate)]))
            assert started.stdout is not None
            ports.append(int(started.stdout.readline()))
        instance = start_instance(stack, folder, root)
        prepare(instance)
        load = Mixed(instance.runtime, ports[0], ports[1], options.per_second, options.minutes * 60)
        client = stack.enter_context(process([*module, "benchmarks.load.mixed", json.dumps(asdict(load))]))
        samples = measure(instance, load, client)
        answers = json.loads(client.communicate(timeout=120)[0])
        pids = json.loads((folder / "runtime.json").read_text())["pids"]
    restarted = [part for part, before in instance.runtime["pids"].items() if before != pids[part]]
    print(f"\n{options.minutes:g} minutes, {options.per_second:g} calls a second, load {os.getloadavg()[0]:.1f}")
    print(f"  calls {answers['calls']}; unexpected answers {answers['unexpected']}; restarted {restarted}")
    print_rows(samples)


if __name__ == "__main__":
    main()
