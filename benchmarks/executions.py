"""Executions of one worker against a fast local service, and the worker's memory with few and many queued.

``python -m benchmarks.executions [--queued 10000]``: the worker is stopped (SIGSTOP) while they are queued, so that
what is measured is the worker draining them.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx
import psycopg

from benchmarks.load.instance import Instance, process, start_instance
from benchmarks.load.processes import memory_mib, processor_seconds

_LIMITS: Final = {"agent_concurrency": 64, "destination_concurrency": 64, "destination_per_second": 100_000}
_SUBMITTERS: Final = 8


async def submit(instance: Instance, port: int, count: int) -> None:
    """Explicit actions of the generic tool, one after the other on each connection."""
    body = {"tool": "http", "operation": "get", "params": {"url": f"http://127.0.0.1:{port}/bytes/200"}}
    left = iter(range(count))
    headers = {"x-agent-key": instance.runtime["agent_key"]}

    async def one(client: httpx.AsyncClient) -> None:
        for _ in left:
            (await client.post("/v1/actions", json=body)).raise_for_status()

    async with httpx.AsyncClient(
        base_url=instance.runtime["api_url"], headers=headers, timeout=60, trust_env=False
    ) as client:
        await asyncio.gather(*(one(client) for _ in range(_SUBMITTERS)))


def queued(database_url: str) -> int:
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT sum(waiting + running) FROM job_queues()").fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


def drain(instance: Instance, port: int, count: int) -> None:
    (worker,) = instance.runtime["pids"]["worker"]
    os.kill(worker, signal.SIGSTOP)
    asyncio.run(submit(instance, port, count))
    before, started = processor_seconds(worker), time.monotonic()
    os.kill(worker, signal.SIGCONT)
    while queued(instance.runtime["database_url"]):
        time.sleep(0.1)
    took, spent = time.monotonic() - started, processor_seconds(worker) - before
    ends = instance.api.get("/v1/executions/stats", params={"window_seconds": 3600}).json()
    print(
        f"  {count} queued: {count / took:.0f}/s, {1000 * spent / count:.2f} ms of the worker's CPU each,"
        f" success {ends['success_rate']}, p50 {ends['duration']['p50_ms']:.1f} ms,"
        f" p99 {ends['duration']['p99_ms']:.1f} ms, worker at most {memory_mib(worker, 'VmHWM'):.1f} MiB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queued", type=int, default=10_000)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        instance = start_instance(stack, folder)
        instance.api.put("/admin/settings/executions", json=_LIMITS).raise_for_status()
        service = stack.enter_context(process([sys.executable, "-m", "benchmarks.load.upstream"]))
        assert service.stdout is not None
        port = int(service.stdout.readline())
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
        for count in (100, 1000, options.queued):
            drain(instance, port, count)


if __name__ == "__main__":
    main()
