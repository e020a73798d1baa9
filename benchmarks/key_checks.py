"""Checking an agent's key from the cache (bar: 50 µs), and how soon a revoked key stops working (bar: 1 s).

``python -m benchmarks.key_checks [--checks 200000] [--revocations 20]``: the check by itself, in this process; the
revocation through a whole instance: asked of the API that did it, of another API process, and inside a tunnel of the
proxy that is open already.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx

from benchmarks.load.instance import Instance, process, start_instance, wait_for
from headgate.agents.authenticate import KeyRing
from headgate.db.database import Database
from headgate.kernel.secrets import Secret

_PATIENCE_SECONDS: Final = 30


async def microseconds_a_check(instance: Instance, checks: int) -> list[float]:
    """The mean of each thousand."""
    database = Database(Secret(instance.runtime["database_url"]), max_connections=1)
    await database.open()
    try:
        keys, key = KeyRing(database), instance.runtime["agent_key"]
        await keys.authenticate(key)
        means: list[float] = []
        for _ in range(checks // 1000):
            began = time.perf_counter()
            for _ in range(1000):
                await keys.authenticate(key)
            means.append((time.perf_counter() - began) * 1000)
        return means
    finally:
        await database.close()


def seconds_until(refused: Callable[[], bool], began: float) -> float:
    while not refused():
        if time.perf_counter() - began > _PATIENCE_SECONDS:
            raise TimeoutError("a revoked key went on working")
    return time.perf_counter() - began


def revocations(instance: Instance, other_api: str, upstream: str, count: int) -> dict[str, list[float]]:
    """Seconds from the answer to the revocation, by where the key is shown."""
    found: dict[str, list[float]] = {"this API": [], "another API": [], "an open tunnel": []}
    for number in range(count):
        agent = instance.api.post("/admin/agents", json={"name": f"revoked {number}"}).raise_for_status().json()
        key = agent["api_key"]["key"]
        headers = {"x-agent-key": key}
        proxy = httpx.Proxy(instance.runtime["proxy_url"], auth=("agent", key))
        with (
            httpx.Client(base_url=instance.runtime["api_url"], headers=headers, trust_env=False) as this,
            httpx.Client(base_url=other_api, headers=headers, trust_env=False) as other,
            httpx.Client(proxy=proxy, trust_env=False, timeout=60) as tunnel,
        ):
            asked: dict[str, Callable[[], int]] = {
                "this API": lambda client=this: client.get("/v1/actions?limit=1").status_code,  # type: ignore[misc] - bound now
                "another API": lambda client=other: client.get("/v1/actions?limit=1").status_code,  # type: ignore[misc]
                "an open tunnel": lambda client=tunnel: client.get(f"{upstream}/bytes/1").status_code,  # type: ignore[misc]
            }
            assert [ask() for ask in asked.values()] == [200, 200, 200]
            instance.api.delete(f"/admin/keys/{agent['api_key']['id']}").raise_for_status()
            began = time.perf_counter()
            for name, ask in asked.items():
                found[name].append(seconds_until(lambda ask=ask: ask() in (401, 407), began))  # type: ignore[misc]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=200_000)
    parser.add_argument("--revocations", type=int, default=20)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        instance = start_instance(stack, folder)
        upstream = stack.enter_context(process([sys.executable, "-m", "benchmarks.load.upstream"]))
        assert upstream.stdout is not None
        address = f"http://127.0.0.1:{upstream.stdout.readline().strip()}"
        port = instance.api_port + 1
        (folder / "other").mkdir()
        environment = {
            **os.environ,
            "HEADGATE_API_DATABASE_URL": instance.runtime["database_url"],
            "HEADGATE_REDIS_URL": instance.runtime["redis_url"],
            "HEADGATE_API_PORT": str(port),
            "HEADGATE_DATA_DIR": str(folder / "other"),
            "HEADGATE_RATE_LIMITS": "off",
            "HEADGATE_LOG_LEVEL": "error",
        }
        stack.enter_context(process([sys.executable, "-m", "headgate.cli.main", "api"], env=environment))
        other = f"http://127.0.0.1:{port}"
        wait_for(lambda: _is_ready(other))
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
        means = asyncio.run(microseconds_a_check(instance, options.checks))
        print(f"  key check from the cache: {statistics.median(means):.2f} µs (worst thousand {max(means):.2f})")
        for name, seconds in revocations(instance, other, address, options.revocations).items():
            print(f"  revoked, shown to {name}: p50 {statistics.median(seconds):.3f} s, worst {max(seconds):.3f} s")


def _is_ready(api: str) -> bool:
    try:
        return httpx.get(f"{api}/ready", trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


if __name__ == "__main__":
    main()
