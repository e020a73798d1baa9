"""Workers share a port, come back when they die, and end with their parent."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPT = """
import asyncio, os, sys
from proxy.workers import Workers

def serve():
    async def answer(reader, writer):
        writer.write(str(os.getpid()).encode())
        writer.close()
    async def main():
        server = await asyncio.start_server(answer, "127.0.0.1", int(sys.argv[1]), reuse_port=True)
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(15, stop.set)
        await stop.wait()
        server.close()
    asyncio.run(main())

Workers(3, serve, stop_seconds=5).run("127.0.0.1", int(sys.argv[1]))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port: int, count: int, *, seconds: float = 20) -> set[int]:
    """The process ids that answer, once they are ``count``."""
    seen: set[int] = set()
    deadline = time.monotonic() + seconds
    while len(seen) < count and time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as client:
                if text := client.recv(100):
                    seen.add(int(text))
        except OSError:
            time.sleep(0.05)
    return seen


def gone(process_ids: set[int], *, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not [one for one in process_ids if _alive(one)]:
            return True
        time.sleep(0.05)
    return False


def _alive(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def workers() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    port = free_port()
    root = Path(__file__).parents[3]
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(port)]
    with subprocess.Popen(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}) as process:
        yield process, port
        process.kill()


def test_life_and_death(workers) -> None:
    parent, port = workers
    first = answers(port, 3)
    assert len(first) == 3
    victim = next(iter(first))
    os.kill(victim, signal.SIGKILL)
    assert gone({victim})
    second = answers(port, 3)
    assert len(second) == 3
    assert victim not in second
    parent.terminate()
    assert parent.wait(10) == 0
    assert gone(second)


def test_no_worker_outlives_its_parent(workers) -> None:
    parent, port = workers
    running = answers(port, 3)
    parent.kill()
    parent.wait(10)
    assert gone(running)
