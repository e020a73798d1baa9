"""Ten thousand large uploads at the same moment stay within what one process may keep of them."""

import asyncio
import json
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from addons.limits import RequestLimits

_UPLOADS = 10_000
_SIZE = 256 << 10
_BUDGET = 64 << 20
_EACH_BESIDE = 96 << 10
"""What a connection itself costs at most while it waits for its turn: reads of 16 KiB that are not yet taken, its
state (15 KB, benchmarks/holds.py), and the refusal that it is answered with. Without a bound each would cost its
256 KiB."""


@pytest.fixture
def descriptors() -> Iterator[None]:
    """One for each client, and some more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _UPLOADS + 2_000
    assert before[1] == resource.RLIM_INFINITY or before[1] >= wanted, f"raise the hard limit (ulimit -Hn) to {wanted}"
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], wanted), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.timeout(500)
async def test_ten_thousand_uploads(start, descriptors) -> None:
    # No deadline of an upload or a head, however busy the machine is.
    limits = RequestLimits(body=1 << 20, buffered=_BUDGET, upload_seconds=600, head_seconds=600)
    running = await start(limits=limits, max_connections=4 * _UPLOADS + 400)  # an address has a quarter
    held = asyncio.Event()

    async def hold(_: object) -> None:
        await held.wait()

    running.decide.before = hold
    budget, listener = running.gate.budget, running.gate.listener
    client = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("uploads.py")),
        *map(str, (running.port, running.upstream.plain_port, _UPLOADS, _SIZE)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert client.stdout is not None
    try:
        assert await client.stdout.readline() == b"open\n"
        before = _resident_bytes()
        async with asyncio.timeout(300):
            # Refused are those that do not fit; what stays is held in full.
            while listener.connection_count * _SIZE > _BUDGET or budget.used_bytes != listener.connection_count * _SIZE:
                await asyncio.sleep(0.1)
        assert 0 < budget.used_bytes <= _BUDGET
        grown = _resident_bytes() - before
        held.set()
        statuses = json.loads(await client.stdout.read())
    finally:
        if client.returncode is None:
            client.terminate()
        await client.wait()
    accepted = statuses.pop("200")
    assert statuses == {"503": _UPLOADS - accepted}
    assert accepted == len(running.upstream.heads) > 0
    assert budget.peak_bytes <= _BUDGET
    assert grown < _BUDGET + _UPLOADS * _EACH_BESIDE
    await running.settled()
    assert budget.used_bytes == 0
