"""An ended connection leaves nothing to the garbage collector that stops the event loop for all others."""

import asyncio
import gc
import socket
import struct
from collections.abc import Iterator

import pytest
from mitmproxy.proxy import commands
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


async def test_a_client_that_has_reset_its_connection_is_closed_without_a_crash(start) -> None:
    """A traceback for each of them was a megabyte of log a minute."""
    running = await start()
    listener = running.gate.listener
    with socket.create_connection(("127.0.0.1", running.port)) as client:
        async with asyncio.timeout(30):
            while not listener.connection_count:
                await asyncio.sleep(0.01)
        [(connection, _)] = listener._connections.values()
        connection.transports[connection.client].writer.transport.pause_reading()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection._execute(commands.CloseConnection(connection.client))
    async with asyncio.timeout(30):
        while listener.connection_count:
            await asyncio.sleep(0.01)
