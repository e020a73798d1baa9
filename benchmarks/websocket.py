"""Messages of WebSockets through one proxy process, each decided and recorded.

``python -m benchmarks.websocket [--messages 2000] [--sockets 8]``: the time of an echo of 64 bytes, one after the other
in one socket, directly and through the gate; then the messages a second of several sockets that do not wait for each
answer, and the processor time of the proxy for each.
"""

import argparse
import asyncio
import os
import ssl
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect

from benchmarks.load.instance import Instance, process, start_instance
from benchmarks.load.processes import processor_seconds
from headgate.demo.certificates import write_service_certificate

_ALLOW = 'package sockets\n\nallow if input.tool == "websocket"\n'
_MESSAGE = "x" * 64
_WINDOW = 16
"""Messages of a socket that have no answer yet."""


async def echo_seconds(socket: ClientConnection, count: int) -> list[float]:
    took = []
    for _ in range(count):
        began = time.perf_counter()
        await socket.send(_MESSAGE)
        await socket.recv()
        took.append(time.perf_counter() - began)
    return took


async def stream(socket: ClientConnection, count: int) -> None:
    open_answers = asyncio.Semaphore(_WINDOW)

    async def receive() -> None:
        for _ in range(count):
            await socket.recv()
            open_answers.release()

    receiving = asyncio.create_task(receive())
    for _ in range(count):
        await open_answers.acquire()
        await socket.send(_MESSAGE)
    await receiving


async def measure(instance: Instance, port: int, root: Path, options: argparse.Namespace) -> None:
    runtime, url = instance.runtime, f"wss://127.0.0.1:{port}/"
    direct_trust = ssl.create_default_context(cafile=str(root))
    gate_trust = ssl.create_default_context(cafile=runtime["ca_cert"])
    proxy = f"http://agent:{runtime['agent_key']}@127.0.0.1:{instance.proxy_port}"
    times = {}
    for name, given in (
        ("directly", {"proxy": None, "ssl": direct_trust}),
        ("gate", {"proxy": proxy, "ssl": gate_trust}),
    ):
        async with connect(url, compression=None, **given) as socket:
            await echo_seconds(socket, 200)
            times[name] = sorted(await echo_seconds(socket, options.messages))
    for name, took in times.items():
        p50, p99 = statistics.median(took), took[int(len(took) * 0.99)]
        print(f"  echo {name}: p50 {p50 * 1000:.2f} ms, p99 {p99 * 1000:.2f} ms")
    added = statistics.median(times["gate"]) - statistics.median(times["directly"])
    print(f"  added p50 {added * 1000:.2f} ms")
    pids = runtime["pids"]["proxy"]
    sockets = [
        await connect(url, compression=None, proxy=proxy, ssl=gate_trust, ping_interval=None)
        for _ in range(options.sockets)
    ]
    before, began = processor_seconds(pids[0]), time.perf_counter()
    await asyncio.gather(*(stream(one, options.messages) for one in sockets))
    took, processor = time.perf_counter() - began, processor_seconds(pids[0]) - before
    total = options.messages * options.sockets
    print(
        f"  {options.sockets} sockets, {_WINDOW} messages under way in each: {total / took:.0f} messages/s,"
        f" {processor / total * 1e6:.0f} µs of the proxy's processor each"
    )
    for one in sockets:
        await one.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=2000, help="of each socket")
    parser.add_argument("--sockets", type=int, default=8)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        root, certificate = write_service_certificate(folder, "127.0.0.1")
        command = [sys.executable, "-m", "benchmarks.load.socket_upstream", str(certificate)]
        upstream = stack.enter_context(process(command))
        assert upstream.stdout is not None
        port = int(upstream.stdout.readline())
        instance = start_instance(stack, folder, root)
        policy = {"name": "Sockets", "rego_policy": _ALLOW, "priority": 0}
        instance.api.post("/admin/policies", json=policy).raise_for_status()
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
        asyncio.run(measure(instance, port, root, options))


if __name__ == "__main__":
    main()
