"""500 viewers of the live streams on one API process (bar: decisions do not suffer).

``python -m benchmarks.viewers [--viewers 500] [--rate 50] [--seconds 20]``: half of the viewers follow approvals, half
all calls, each with a browser's session. Beside them agents submit calls at the rate, somebody reads calls, and a
person approves held requests; the same is done without a viewer first.
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
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx

from benchmarks.actions_api import measure
from benchmarks.load.instance import Instance, process, start_instance
from benchmarks.load.processes import memory_mib, processor_seconds
from benchmarks.load.viewers import Viewers

_PATHS = ["/v1/approvals/events", "/v1/actions/events"]
_HELD = {"tool": "github", "operation": "merge_pull_request", "params": {"repo": "acme/site"}}
_READS_PER_SECOND = 20


def session_cookie(instance: Instance, runtime_file: Path) -> str:
    """A browser's, by the link that ``headgate login`` prints."""
    command = [sys.executable, "-m", "headgate.cli.main", "login", "--print-url", "--runtime-file", str(runtime_file)]
    link = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1]
    origin = f"{urlsplit(link).scheme}://{urlsplit(link).netloc}"
    with httpx.Client(trust_env=False, headers={"origin": origin, "sec-fetch-site": "same-origin"}) as browser:
        browser.post(link)
        return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


class Beside(Thread):
    """Reads calls and approves held ones while the calls are submitted."""

    def __init__(self, instance: Instance, seconds: float) -> None:
        super().__init__()
        self._instance = instance
        self._until = time.monotonic() + seconds
        self.reads_ms: list[float] = []
        self.approves_ms: list[float] = []
        self.approved_at: dict[str, float] = {}

    def run(self) -> None:
        agent = {"x-agent-key": self._instance.runtime["agent_key"]}
        with httpx.Client(base_url=self._instance.runtime["api_url"], trust_env=False, timeout=60) as client:
            held = client.post("/v1/actions", json=_HELD, headers=agent).raise_for_status().json()
            while time.monotonic() < self._until:
                for _ in range(_READS_PER_SECOND):
                    began = time.monotonic()
                    client.get(f"/v1/actions/{held['id']}", headers=agent).raise_for_status()
                    self.reads_ms.append((time.monotonic() - began) * 1000)
                    time.sleep(max(0.0, began + 1 / _READS_PER_SECOND - time.monotonic()))
                began = time.monotonic()
                self._instance.api.post(f"/v1/approvals/{held['approval_id']}/approve").raise_for_status()
                self.approved_at[held["approval_id"]] = time.monotonic()
                self.approves_ms.append((time.monotonic() - began) * 1000)
                held = client.post("/v1/actions", json=_HELD, headers=agent).raise_for_status().json()


def _shown(milliseconds: list[float]) -> str:
    steps = statistics.quantiles(milliseconds, n=100)
    return f"p50 {steps[49]:.1f} ms, p99 {steps[98]:.1f} ms"


def report(instance: Instance, rate: float, seconds: float, viewers: int) -> dict[str, float]:
    """Prints what the load met; returns when each request was approved."""
    [api] = instance.runtime["pids"]["api"]
    beside, before, began = Beside(instance, seconds), processor_seconds(api), time.monotonic()
    beside.start()
    offered = measure(instance, 8, seconds, rate)
    beside.join()
    used = (processor_seconds(api) - before) / (time.monotonic() - began)
    print(f"  {viewers} viewers, load {os.getloadavg()[0]:.1f}:")
    print(f"    POST /v1/actions, {rate:.0f}/s: p50 {offered['p50_ms']:.1f} ms, p99 {offered['p99_ms']:.1f} ms,"
          f" errors {offered['errors']:.0f}")  # fmt: skip
    print(f"    GET /v1/actions/ID, {_READS_PER_SECOND}/s: {_shown(beside.reads_ms)}")
    approves = f"median {statistics.median(beside.approves_ms):.1f} ms, longest {max(beside.approves_ms):.1f} ms"
    print(f"    POST …/approve, {len(beside.approves_ms)}: {approves}")
    print(f"    the API: {used * 100:.0f} % of a core, {memory_mib(api, 'VmRSS'):.0f} MiB", flush=True)
    return beside.approved_at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", type=int, default=500)
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        instance = start_instance(stack, folder, descriptors=4096)
        cookie = session_cookie(instance, folder / "runtime.json")
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
        measure(instance, 8, 5, options.rate)
        report(instance, options.rate, options.seconds, 0)
        wanted = Viewers(instance.api_port, cookie, _PATHS, options.viewers)
        command = [sys.executable, "-m", "benchmarks.load.viewers", json.dumps(wanted.__dict__)]
        child = stack.enter_context(process(command, stdin=subprocess.PIPE))
        assert child.stdin is not None
        assert child.stdout is not None
        json.loads(child.stdout.readline())
        approved_at = report(instance, options.rate, options.seconds, options.viewers)
        time.sleep(3)
        seen: dict[str, Any] = json.loads(child.communicate()[0])
        arrivals = {one: tuple(seen["arrivals"].get(one, (0, 0.0))) for one in approved_at}
        late = [(last - approved_at[one]) * 1000 for one, (count, last) in arrivals.items() if count == options.viewers]
        missed = sum(count < options.viewers for count, _ in arrivals.values())
        print(f"    from the decision to the last viewer: median {statistics.median(late):.0f} ms, longest"
              f" {max(late):.0f} ms of {len(late)}; not seen by all {missed}")  # fmt: skip
        print(f"    sent to the viewers: {seen['bytes'] / 1e6:.0f} MB; streams ended early: {seen['ended']}")


if __name__ == "__main__":
    main()
