"""What capturing costs the proxy: CPU of its process for each request, with bodies of 10 KB both ways.

``python -m benchmarks.capture [--seconds 3] [--rounds 9]``: with capture off and on in turn, and once more off, which
is the noise; each is held against the mean of both beside it. The process that masks stands still meanwhile (the cores
are shared, and it is not what is measured), and is measured by itself afterwards: what it cannot keep up with is
counted.
"""

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.gate import SetUp, measure
from benchmarks.load.instance import Instance, process, start_instance, wait_for
from headgate.demo.certificates import write_service_certificate

_CASE = {"method": "POST", "path": "/bytes/10240", "body_bytes": 10_240}
_BAR = 1.10


def switch(instance: Instance, level: str) -> None:
    rules = [] if level == "off" else [{"capture": level}]
    instance.api.put("/admin/settings/captures", json={"rules": rules}).raise_for_status()
    time.sleep(1)


def kept_and_lost(instance: Instance) -> tuple[int, dict[str, int]]:
    page = instance.api.get("/admin/traffic", params={"limit": 1, "total": "exact"}).raise_for_status().json()
    return page["pagination"]["total"], {one["cause"]: one["exchanges"] for one in page["not_captured"]}


def masker_of(pid: int) -> int:
    """The proxy starts it a moment after its first exchange."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    wait_for(lambda: bool(children.read_text().split()))
    return int(children.read_text().split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        root, certificate = write_service_certificate(folder, "127.0.0.1")
        upstream = stack.enter_context(process([sys.executable, "-m", "benchmarks.load.upstream", str(certificate)]))
        assert upstream.stdout is not None
        target_port = int(upstream.stdout.readline())
        instance = start_instance(stack, folder, root)
        runtime = instance.runtime
        pid = runtime["pids"]["proxy"][0]
        gate = SetUp("headgate", instance.proxy_port, runtime["ca_cert"], runtime["agent_key"], pid)
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
        rounds: list[dict[str, dict[str, Any]]] = []
        sent = 0.0
        switch(instance, "bodies")
        measure(gate, target_port, options.connections, 1.0, _CASE)
        stack.callback(os.kill, masker := masker_of(pid), signal.SIGCONT)
        os.kill(masker, signal.SIGSTOP)
        for _ in range(options.rounds):
            one: dict[str, dict[str, Any]] = {}
            for name, level in (("off", "off"), ("bodies", "bodies"), ("off again", "off")):
                switch(instance, level)
                one[name] = measure(gate, target_port, options.connections, options.seconds, _CASE)
                if level != "off":
                    sent += one[name]["rps"] * (options.seconds + 0.5)
            rounds.append(one)
        for name in ("off", "bodies", "off again"):
            cpu = statistics.median(one[name]["cpu_us"] for one in rounds)
            against = statistics.median(
                2 * one[name]["cpu_us"] / (one["off"]["cpu_us"] + one["off again"]["cpu_us"]) for one in rounds
            )
            p50 = statistics.median(one[name]["p50_ms"] for one in rounds)
            rate = statistics.median(one[name]["rps"] for one in rounds)
            errors = sum(one[name]["errors"] for one in rounds)
            print(
                f"{name:<10} CPU {cpu:6.0f} µs a request, ÷ off {against:.3f}; {rate:5.0f} requests/s,"
                f" p50 {p50:.2f} ms, {errors:.0f} errors"
            )
        refusals = sum((Counter(one[name]["refusals"]) for one in rounds for name in one), Counter[str]())
        for status, count in refusals.most_common():
            # "503 Gate unavailable": the database took longer than the second that a record has.
            print(f"   {count} answers: {status}")
        print(f"the bar: {_BAR:.2f}")
        os.kill(masker, signal.SIGCONT)
        watch_the_masker(instance, masker, sent)


def watch_the_masker(instance: Instance, masker: int, sent: float) -> None:
    """How fast it works off what it was left, and that everything is kept or counted."""
    before, _ = kept_and_lost(instance)
    started = time.monotonic()
    time.sleep(15)
    nice = Path(f"/proc/{masker}/stat").read_text().rsplit(")", 1)[1].split()[16]
    after, lost = kept_and_lost(instance)
    rate = (after - before) / (time.monotonic() - started)
    print(
        f"masker (niceness {nice}): {rate:.0f} exchanges/s; {after} kept so far, lost {lost or 0}, of about {sent:.0f}"
    )


if __name__ == "__main__":
    main()
