"""What an outage leaves behind, for every way to call out: ``python -m benchmarks.outages [--crowds 200]``.

Each client of ``tests/integration/outgoing/test_outages.py`` is used by one crowd after another, half of whose calls
are given up at some moment, while the server fails in one way after the other. Then the server answers again. Printed
are the file descriptors before and after, how long after its deadline the last call of the slowest crowd ended, and
how soon a call succeeded once the server was back, at worst.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Final

import structlog

from tests.integration.outgoing.outage import Outage, crowd, failing_server, open_files, settled_files
from tests.integration.outgoing.test_outages import CLIENTS, Client

_DEADLINE_SECONDS: Final = 0.3
_RECOVERY_SECONDS: Final = 20.0
_OUTAGES: Final = [one for one in Outage if one is not Outage.NONE]


async def measure(name: str, client: Client, answer: bytes, crowds: int, size: int) -> None:
    late, recovered, most = 0.0, 0.0, 0
    async with failing_server(answer) as server, client(server.port, _DEADLINE_SECONDS) as call:
        before = open_files()
        for outage in _OUTAGES:
            await server.fail(outage)
            for number in range(crowds // len(_OUTAGES)):
                began = time.perf_counter()
                await crowd(call, size, 0.05 if number % 2 else _DEADLINE_SECONDS, seed=number)
                late = max(late, time.perf_counter() - began - _DEADLINE_SECONDS)
            await server.fail(Outage.NONE)
            most = max(most, await settled_files(before))
            began = time.perf_counter()
            while not await _succeeds(call(-1)):
                if time.perf_counter() - began > _RECOVERY_SECONDS:
                    break
                await asyncio.sleep(0.01)
            recovered = max(recovered, time.perf_counter() - began)
        print(
            f"{name}: file descriptors {before} before, {most} after; {late:.2f} s beyond the deadline at most;"
            f" answered {recovered:.3f} s after the server at most; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


async def _succeeds(call: Awaitable[object]) -> bool:
    try:
        await call
    except Exception:  # noqa: BLE001 - of whatever client
        return False
    return True


async def run(crowds: int, size: int) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {crowds} crowds of {size}")
    for name, (client, answer) in CLIENTS.items():
        await measure(name, client, answer, crowds, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowds", type=int, default=200)
    parser.add_argument("--size", type=int, default=50)
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    asyncio.run(run(given.crowds, given.size))


if __name__ == "__main__":
    main()
