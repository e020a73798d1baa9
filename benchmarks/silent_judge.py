"""Fifty policy tests at once while the language-model provider is silent: ``python -m benchmarks.silent_judge``.

A whole instance of the gate (``headgate up``), with the client and the provider in this process. Printed are the
slowest of each round's tests and the slowest answer of ``/health`` meanwhile, asked every 20 ms by another process.
The first round begins in the second in which the instance is ready, the others when the breaker is closed again.
"""

import argparse
import asyncio
import os
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from http.client import HTTPConnection
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

import httpx

from benchmarks.load.instance import start_instance
from tests.integration.outgoing.outage import Outage, failing_server

_TESTS = 50
_PAUSE_SECONDS = 10.0
"""Longer than the breaker stays open."""
_POLICY = {"name": "No deletions", "type": "custom", "provider": "local", "model": "m", "prompt": "Refuse deletions."}


async def _timed(client: httpx.AsyncClient, method: str, path: str, body: object = None) -> float:
    began = time.perf_counter()
    (await client.request(method, path, json=body)).raise_for_status()
    return time.perf_counter() - began


def ask_health(address: str, ends: Event, answer: "Connection[float, float]") -> None:
    """The process that asks; sends the slowest answer's seconds."""
    slowest, connection = 0.0, HTTPConnection(address, timeout=60)
    while not ends.is_set():
        began = time.perf_counter()
        connection.request("GET", "/health")
        connection.getresponse().read()
        slowest = max(slowest, time.perf_counter() - began)
        time.sleep(0.02)
    answer.send(slowest)


async def _round(admin: httpx.AsyncClient, policy_id: str) -> tuple[float, float]:
    spawn = get_context("spawn")
    ends, (here, there) = spawn.Event(), spawn.Pipe()
    asks = spawn.Process(target=ask_health, args=(admin.base_url.netloc.decode(), ends, there))
    asks.start()
    await asyncio.sleep(1.0)
    path = f"/admin/nlp-policies/{policy_id}/test"
    took = await asyncio.gather(*(_timed(admin, "POST", path, {"content": f"hello {n}"}) for n in range(_TESTS)))
    ends.set()
    slowest = await asyncio.to_thread(here.recv)
    asks.join()
    return max(took), slowest


async def measure(url: str, token: str, rounds: int) -> None:
    headers = {"authorization": f"Bearer {token}"}
    limits = httpx.Limits(max_connections=_TESTS, max_keepalive_connections=_TESTS)
    async with (
        failing_server(b"") as server,
        httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False, limits=limits) as admin,
    ):
        await server.fail(Outage.SILENT)
        setting = {"local": {"kind": "openai_compatible", "base_url": f"http://127.0.0.1:{server.port}/v1"}}
        (await admin.put("/admin/settings/nlp-providers", json=setting)).raise_for_status()
        policy = (await admin.post("/admin/nlp-policies", json=_POLICY)).raise_for_status().json()
        for number in range(rounds):
            if number:
                await asyncio.sleep(_PAUSE_SECONDS)
            test, answer = await _round(admin, policy["id"])
            print(f"round {number + 1}: slowest test {test:.2f} s, slowest /health {answer * 1000:.0f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.silent_judge", description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runtime = start_instance(stack, folder).runtime
        asyncio.run(measure(runtime["api_url"], runtime["admin_token"], arguments.rounds))


if __name__ == "__main__":
    main()
