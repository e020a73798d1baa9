"""What policies that only watch cost: ``python -m benchmarks.shadow [--policies 5] [--rounds 4] [--seconds 5]``.

POST /v1/actions against one instance without shadow policies, and with some of 77 lines of which each speaks about the
call, in turns: time per request as fast as eight connections are answered, the median at 200 requests a second, and the
processor's time of the API process per request, in which the asking afterwards is counted too.
"""

import argparse
import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.actions_api import measure
from benchmarks.load.instance import Instance, start_instance
from benchmarks.load.processes import processor_seconds

_REALISTIC = (Path(__file__).parent / "data" / "decisions" / "realistic.rego").read_text("utf-8")
_SPEAKS = '\n\nallow if input.tool == "crm"\n'
_SETTLE_SECONDS = 2.0  # for what was asked afterwards to be asked


def add_policies(instance: Instance, count: int) -> list[str]:
    ids: list[str] = []
    for number in range(count):
        text = _REALISTIC.replace("package hg.p1", f"package shadow{number}", 1) + _SPEAKS
        body = {"name": f"Watching {number}", "rego_policy": text, "mode": "shadow"}
        answer = instance.api.post("/admin/policies", json=body).raise_for_status()
        ids.append(answer.json()["id"])
    return ids


def once(instance: Instance, seconds: float) -> dict[str, float]:
    pid = instance.runtime["pids"]["api"][0]
    before = processor_seconds(pid)
    closed = measure(instance, 8, seconds, 0)
    time.sleep(_SETTLE_SECONDS)
    spent = processor_seconds(pid) - before
    # The second of warming up has requests too, as many as any other.
    requests = closed["rps"] * (seconds + 1)
    offered = measure(instance, 8, seconds, 200)
    return {
        "µs per request at 8 connections": 1e6 / closed["rps"],
        "p50 in ms at 200/s": offered["p50_ms"],
        "µs of the processor per request": spent / requests * 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    found: dict[int, list[dict[str, float]]] = {0: [], options.policies: []}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        instance = start_instance(stack, folder)
        once(instance, 2)
        for _ in range(options.rounds):
            for count, results in found.items():
                ids = add_policies(instance, count)
                results.append(once(instance, options.seconds))
                for one in ids:
                    instance.api.delete(f"/admin/policies/{one}").raise_for_status()
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}; medians"
    )
    for name in found[0][0]:
        without, watched = (statistics.median(one[name] for one in found[count]) for count in found)
        print(f"{name}: {without:.1f} without, {watched:.1f} with {options.policies} that watch")


if __name__ == "__main__":
    main()
