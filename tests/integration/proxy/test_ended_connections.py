"""An ended connection leaves nothing to the garbage collector that stops the event loop for all others."""

import asyncio
import gc
from collections.abc import Iterator

import pytest
from mitmproxy.proxy.layers import ClientTLSLayer, HttpLayer, modes

from proxy.connection import GateConnection


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def test_an_ended_connection_is_freed_without_the_collector(start, answer, uncollected) -> None:
    running = await start()
    for _ in range(3):
        assert answer(await running.secure(running.get("/"), wait_seconds=60)).status == 200
        for open_one in (running.tunnel, lambda: asyncio.open_connection("127.0.0.1", running.port)):
            _, writer = await open_one()
            writer.close()
    await running.settled()
    kinds = (GateConnection, modes.HttpProxy, ClientTLSLayer, HttpLayer)
    async with asyncio.timeout(30):
        while left := [one for one in gc.get_objects() if isinstance(one, kinds)]:
            del left
            await asyncio.sleep(0.05)
