"""A name server that never answers takes names away from those who ask it, and from nobody else."""

import asyncio
import socket
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from addons import guard
from headgate.organizations.addresses import Address
from headgate.outgoing.resolver import SystemResolver
from proxy.resolver import GuardedResolver, install

_HUNG = 40
"""More than asyncio's threads for it on most machines, and than ours were."""


class _Dial:
    port = 443
    look_up_seconds = 60.0

    def __init__(self, org_id: str, host: str) -> None:
        self.org_id = org_id
        self.host = host

    def select(self, addresses: Iterable[Address]) -> frozenset[Address]:
        return frozenset(addresses)


async def test_one_organization_has_its_share_of_look_ups_also_of_those_nobody_waits_for() -> None:
    answers, asked = asyncio.Event(), []

    async def resolve(host: str, port: int, **options: Any) -> list[Any]:
        asked.append(host)
        if host.startswith("hang"):
            await answers.wait()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", port))]

    resolver = GuardedResolver(resolve, most_of_one_organization=2)

    async def look_up(org_id: str, host: str) -> list[Any]:
        guard._dial.set(_Dial(org_id, host))  # of this task alone
        return await resolver(host, 443)

    hung = [asyncio.ensure_future(look_up("org_a", f"hang-{number}.test")) for number in range(4)]
    while len(asked) < 2:
        await asyncio.sleep(0)
    for gone in hung[:2]:
        gone.cancel()
    await asyncio.gather(*hung[:2], return_exceptions=True)
    assert len(await asyncio.ensure_future(look_up("org_b", "prompt.test"))) == 1
    assert asked == ["hang-0.test", "hang-1.test", "prompt.test"]
    answers.set()
    assert [len(found) for found in await asyncio.gather(*hung[2:])] == [1, 1]


@pytest.mark.parametrize("who", ["agents", "Headgate"])
async def test_many_that_hang_leave_threads_for_others(monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    over, asked, resolve = threading.Event(), threading.Semaphore(0), socket.getaddrinfo

    def look_up(host: Any, *rest: Any, **options: Any) -> Any:
        if str(host).startswith("hang"):
            asked.release()
            over.wait()
            raise socket.gaierror("no answer")
        return resolve("127.0.0.1", *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    system, loop = SystemResolver(), asyncio.get_running_loop()
    install(loop)
    ask = loop.getaddrinfo if who == "agents" else system
    hung = [asyncio.ensure_future(ask(f"hang-{number}.test", 443)) for number in range(_HUNG)]
    try:
        async with asyncio.timeout(60):
            for _ in range(_HUNG):
                while not asked.acquire(blocking=False):
                    await asyncio.sleep(0.001)
            assert len(await ask("prompt.test", 443)) >= 1
    finally:
        over.set()
        await asyncio.gather(*hung, return_exceptions=True)
        system.close()


async def test_look_ups_have_threads_of_their_own() -> None:
    """What detectors need stays in each thread that they ran in: megabytes, times all threads for look-ups."""
    loop, over = asyncio.get_running_loop(), threading.Event()
    install(loop)
    assert not (await asyncio.to_thread(lambda: threading.current_thread().name)).startswith("resolve")
    busy = [asyncio.ensure_future(asyncio.to_thread(over.wait)) for _ in range(_HUNG)]
    try:
        async with asyncio.timeout(60):
            assert len(await loop.getaddrinfo("127.0.0.1", 443)) >= 1
    finally:
        over.set()
        await asyncio.gather(*busy)
