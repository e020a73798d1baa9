"""HTTPS through the gate, decided and durably recorded, beside stock mitmdump and a bare mitmproxy Master.

``python -m benchmarks.gate [--seconds 4] [--rounds 3]``: every set-up in turn, again and again, so that the
machine's drift falls on all alike; medians of the rounds, ratios within each round. Keep-alive, one worker each.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.load.client import Load
from benchmarks.load.instance import Instance, process, start_instance, wait_for
from benchmarks.load.processes import processor_seconds
from headgate.demo.certificates import write_service_certificate

_CASES = {
    "GET 1 KB": {"method": "GET", "path": "/bytes/1024", "body_bytes": 0},
    "POST 4 KB": {"method": "POST", "path": "/bytes/1024", "body_bytes": 4096},
}
_COLUMNS = "case       conns  rps: dump / bare / gate     ÷dump  ÷bare  p50 over bare ms   CPU µs bare / gate  ÷bare"
_LARGE = {"GET 5 MB": {"method": "GET", "path": "/bytes/5000000", "body_bytes": 0}}


@dataclass(frozen=True)
class SetUp:
    """One proxy under test: where it listens, what its clients trust, and its process."""

    name: str
    port: int
    ca_file: str
    key: str
    pid: int


def start_mitmproxy(stack: ExitStack, folder: Path, name: str, port: int, command: list[str]) -> SetUp:
    child = stack.enter_context(process(command))
    ca_file = folder / name / "mitmproxy-ca-cert.pem"
    wait_for(lambda: ca_file.exists() and _listens(port))
    return SetUp(name, port, str(ca_file), "unused", child.pid)


def _listens(port: int) -> bool:
    needle = f":{port:04X} "
    return any(needle in line and " 0A " in line for line in Path("/proc/net/tcp").read_text().splitlines())


def measure(set_up: SetUp, target_port: int, connections: int, seconds: float, case: dict[str, Any]) -> dict[str, Any]:
    load = Load("127.0.0.1", set_up.port, set_up.key, target_port, set_up.ca_file, connections, seconds, **case)
    before = processor_seconds(set_up.pid)
    command = [sys.executable, "-m", "benchmarks.load.client", json.dumps(load.__dict__)]
    result: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    spent = processor_seconds(set_up.pid) - before
    # The warm-up's requests cost CPU too; the rate tells how many they were.
    sent = result["rps"] * (seconds + load.warm_up_seconds)
    result["cpu_us"] = spent / max(sent, 1) * 1e6
    return result


def median(rounds: list[dict[str, dict[str, float]]], name: str, figure: str) -> float:
    return statistics.median(one[name][figure] for one in rounds)


def ratio(rounds: list[dict[str, dict[str, float]]], other: str, figure: str) -> float:
    return statistics.median(one["headgate"][figure] / max(one[other][figure], 1e-9) for one in rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--large", action="store_true", help="bodies of 5 MB as well")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        root, certificate = write_service_certificate(folder, "127.0.0.1")
        upstream = stack.enter_context(process([sys.executable, "-m", "benchmarks.load.upstream", str(certificate)]))
        assert upstream.stdout is not None
        target_port = int(upstream.stdout.readline())
        instance = start_instance(stack, folder, root)
        runtime = instance.runtime
        gate = SetUp(
            "headgate", instance.proxy_port, runtime["ca_cert"], runtime["agent_key"], runtime["pids"]["proxy"][0]
        )
        bare = [sys.executable, "-m", "benchmarks.load.bare_master", "18181", str(folder / "bare"), str(root)]
        dump = [str(Path(sys.executable).with_name("mitmdump")), "--quiet", "--listen-port", "18182"]
        dump += ["--set", f"confdir={folder / 'mitmdump'}", "--set", f"ssl_verify_upstream_trusted_ca={root}"]
        dump += ["--set", "connection_strategy=lazy", "--set", "stream_large_bodies=1m"]
        set_ups = [
            start_mitmproxy(stack, folder, "mitmdump", 18182, dump),
            start_mitmproxy(stack, folder, "bare", 18181, bare),
            gate,
        ]
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
        print(_COLUMNS)
        for case_name, case in {**_CASES, **(_LARGE if options.large else {})}.items():
            for connections in [1, 8] if case_name in _LARGE else options.connections:
                rounds = [
                    {one.name: measure(one, target_port, connections, options.seconds, case) for one in set_ups}
                    for _ in range(options.rounds)
                ]
                rates = " / ".join(f"{median(rounds, one.name, 'rps'):.0f}" for one in set_ups)
                over = statistics.median(one["headgate"]["p50_ms"] - one["bare"]["p50_ms"] for one in rounds)
                cpu_us = f"{median(rounds, 'bare', 'cpu_us'):.0f} / {median(rounds, 'headgate', 'cpu_us'):.0f}"
                cpu_ratio = ratio(rounds, "bare", "cpu_us")
                print(
                    f"{case_name:<10} {connections:>5}  {rates:<26} {ratio(rounds, 'mitmdump', 'rps'):>6.2f}"
                    f" {ratio(rounds, 'bare', 'rps'):>6.2f}  {over:>16.2f}  {cpu_us:>19} {cpu_ratio:>6.2f}",
                    flush=True,
                )
                errors = sum(one[name]["errors"] for one in rounds for name in one)
                if errors:
                    print(f"   {errors:.0f} errors")
        check_every_request_is_recorded(instance)


def check_every_request_is_recorded(instance: Instance) -> None:
    """Every action has its outcome, a moment later."""
    deadline = time.monotonic() + 120
    while (running := instance.count_actions(status="executing")) and time.monotonic() < deadline:
        time.sleep(0.2)
    print(f"recorded: {instance.count_actions()} actions, {running} without an outcome")


if __name__ == "__main__":
    main()
