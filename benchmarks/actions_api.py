"""POST /v1/actions: decided and durable when it is answered.

``python -m benchmarks.actions_api [--stored 100000]``: 500 requests a second offered, then as fast as eight
connections are answered; with ``--stored``, the same again with that many actions in the database already.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.load.api_client import ApiLoad
from benchmarks.load.instance import Instance, start_instance


def measure(instance: Instance, connections: int, seconds: float, offered_per_second: float) -> dict[str, float]:
    load = ApiLoad(instance.api_port, instance.runtime["agent_key"], connections, seconds, offered_per_second)
    command = [sys.executable, "-m", "benchmarks.load.api_client", json.dumps(load.__dict__)]
    result: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return result


def report(instance: Instance, seconds: float) -> None:
    before = instance.count_actions()
    offered = measure(instance, 32, seconds, 500)
    latency = f"p50 {offered['p50_ms']:.2f} ms, p99 {offered['p99_ms']:.2f} ms"
    print(f"  500/s offered: {latency}, errors {offered['errors']:.0f}")
    closed = measure(instance, 8, seconds, 0)
    print(f"  8 connections: {closed['rps']:.0f}/s, p50 {closed['p50_ms']:.2f} ms, errors {closed['errors']:.0f}")
    print(f"  stored before: {before}, after: {instance.count_actions()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--stored", type=int, default=0)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        instance = start_instance(stack, folder)
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
        report(instance, options.seconds)
        while instance.count_actions() < options.stored:
            measure(instance, 32, 10, 0)
        if options.stored:
            report(instance, options.seconds)


if __name__ == "__main__":
    main()
