"""Many requests held at once in one proxy process: what each costs in memory, and how fast an approval releases it.

``python -m benchmarks.holds [--held 5000] [--offered 500] [--approved 50]``: memory per held request, tunnel included,
beside that of an idle intercepted tunnel of a bare mitmproxy Master in the same run, and how many were held of those
offered; then approvals, and the time from the answer to each to the answer of the call that it releases.
"""

import argparse
import asyncio
import gc
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import httpx

from benchmarks.load.client import Load, open_tunnel
from benchmarks.load.instance import Instance, process, start_instance, wait_for
from headgate.demo.certificates import write_service_certificate

_HOLD = 'package hold\n\nrequire_approval if input.http.path == "/bytes/7"\n'


def resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise ValueError("no VmRSS")


type Tunnel = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def open_all(load: Load, count: int) -> list[Tunnel]:
    tunnels: list[Tunnel] = []
    for start in range(0, count, 25):
        tunnels += await asyncio.gather(*(open_tunnel(load) for _ in range(min(25, count - start))))
    return tunnels


async def send_all(tunnels: list[Tunnel], port: int, per_second: float) -> None:
    began = time.perf_counter()
    for number, (_, writer) in enumerate(tunnels):
        body = json.dumps({"n": number}).encode()
        head = f"POST /bytes/7 HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        await asyncio.sleep(max(0.0, began + number / per_second - time.perf_counter()))


async def release(instance: Instance, tunnels: list[Tunnel], count: int, per_second: float) -> list[float]:
    """Approve the oldest ``count`` and time each release."""
    token = {"authorization": f"Bearer {instance.runtime['admin_token']}"}
    async with httpx.AsyncClient(
        base_url=instance.runtime["api_url"], headers=token, timeout=60, trust_env=False
    ) as api:
        pending: dict[int, str] = {}
        cursor: dict[str, str] = {}
        while len(pending) < count:
            page = (await api.get("/v1/approvals", params={"status": "pending", "limit": "200", **cursor})).json()
            for one in page["data"]:
                pending[one["action"]["params"]["body"]["n"]] = one["id"]
            following = page["pagination"].get("next_cursor")
            if not following:
                break
            cursor = {"cursor": following}

        async def answered(number: int) -> float:
            await tunnels[number][0].readuntil(b"\r\n\r\n")
            return time.perf_counter()

        async def approve(number: int) -> float:
            waiting = asyncio.create_task(answered(number))
            (await api.post(f"/v1/approvals/{pending[number]}/approve", json={})).raise_for_status()
            approved_at = time.perf_counter()
            return max(0.0, await waiting - approved_at)

        tasks, began = [], time.perf_counter()
        for position, number in enumerate(sorted(pending)[:count]):
            tasks.append(asyncio.create_task(approve(number)))
            await asyncio.sleep(max(0.0, began + position / per_second - time.perf_counter()))
        return await asyncio.gather(*tasks)


async def measure(
    instance: Instance,
    bare_pid: int,
    bare_port: int,
    bare_ca: str,
    target_port: int,
    options: argparse.Namespace,
    held: int,
) -> None:
    runtime = instance.runtime
    proxy_pid = runtime["pids"]["proxy"][0]
    base = Load("127.0.0.1", bare_port, "k", target_port, bare_ca, 0, 0)
    warm = await open_all(base, 50)
    before = resident_kb(bare_pid)
    idle = await open_all(base, held)
    await asyncio.sleep(2)
    idle_kb = (resident_kb(bare_pid) - before) / held
    for _, writer in idle + warm:
        writer.transport.abort()

    gate = Load("127.0.0.1", instance.proxy_port, runtime["agent_key"], target_port, runtime["ca_cert"], 0, 0)
    warm = await open_all(gate, 50)
    before = resident_kb(proxy_pid)
    for _, writer in warm:  # one agent has half of the connections that a process takes
        writer.transport.abort()
    await asyncio.sleep(1)
    tunnels = await open_all(gate, held)
    await asyncio.sleep(1)
    tunnel_kb = (resident_kb(proxy_pid) - before) / held
    began = time.perf_counter()
    await send_all(tunnels, target_port, options.offered)
    sent_seconds, recorded, refused = time.perf_counter() - began, 0, 0
    while recorded + refused < held:
        await asyncio.sleep(0.1)
        recorded = await asyncio.to_thread(instance.count_actions, status="pending_approval")
        # What is answered or closed already was refused: nothing has been approved.
        refused = sum(bool(reader._buffer) or reader.at_eof() for reader, _ in tunnels)  # type: ignore[attr-defined] # not read yet
    took_seconds = time.perf_counter() - began
    print(f"  sent in {sent_seconds:.1f} s: {recorded} held, {refused} refused; the last after {took_seconds:.1f} s")
    await asyncio.sleep(2)
    held_kb = (resident_kb(proxy_pid) - before) / held
    print(f"  idle tunnel of a bare Master {idle_kb:.1f} KB; idle tunnel of the gate {tunnel_kb:.1f} KB")
    print(f"  held request with its tunnel {held_kb:.1f} KB: {held_kb - idle_kb:+.1f} KB on top of the bare tunnel")
    gc.disable()  # a collection over this client's thousands of streams would count as latency of the gate
    latencies = sorted(await release(instance, tunnels, min(held, 500), options.approved))
    p50, p99 = statistics.median(latencies), latencies[int(len(latencies) * 0.99)]
    print(f"  released at {options.approved:.0f}/s: p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms", flush=True)
    for _, writer in tunnels:
        writer.transport.abort()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held", type=int, default=5000)
    parser.add_argument("--offered", type=float, default=500, help="calls a second")
    parser.add_argument("--approved", type=float, default=50, help="approvals a second")
    options = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    # A process takes connections up to half of its files, and of these half are one agent's (docs/reference/limits.md).
    held = min(options.held, limit // 4 - 50)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-")))
        root, certificate = write_service_certificate(folder, "127.0.0.1")
        upstream = stack.enter_context(process([sys.executable, "-m", "benchmarks.load.upstream", str(certificate)]))
        assert upstream.stdout is not None
        target_port = int(upstream.stdout.readline())
        bare_command = [sys.executable, "-m", "benchmarks.load.bare_master", "18181", str(folder / "bare"), str(root)]
        bare = stack.enter_context(process(bare_command))
        bare_ca = folder / "bare" / "mitmproxy-ca-cert.pem"
        instance = start_instance(stack, folder, root, HEADGATE_HOLD_SECONDS="900")
        wait_for(bare_ca.exists)
        policy = {"name": "Hold", "rego_policy": _HOLD, "priority": 0}
        instance.api.post("/admin/policies", json=policy).raise_for_status()
        print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores for everything, load {os.getloadavg()[0]:.1f}")
        asyncio.run(measure(instance, bare.pid, 18181, str(bare_ca), target_port, options, held))


if __name__ == "__main__":
    main()
