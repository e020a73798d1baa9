"""Connections of those who have no key do not keep out those who have one."""

import asyncio

from addons.verdict import flow_state
from tests.integration.proxy.conftest import Allow, caller_named


async def test_the_oldest_without_a_key_give_way(start, answer) -> None:
    async def identify(flow) -> None:
        flow_state(flow).client.caller = caller_named("agt_1")

    running = await start(decide=Allow(before=identify), max_connections=6)
    _, known = identified = await running.tunnel()
    await ask(running, identified)

    idle = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(30)]
    for reader, _ in idle[:20]:
        async with asyncio.timeout(30):
            assert await reader.read() == b""
    assert running.gate.listener.connection_count <= 7
    # A newcomer gets in, and whoever has shown a key stays.
    assert answer(await running.secure(running.get())).status == 200
    await ask(running, identified)
    for writer in (known, *(writer for _, writer in idle)):
        writer.close()


async def ask(running, connection) -> None:
    reader, writer = connection
    writer.write(f"GET /empty HTTP/1.1\r\nHost: 127.0.0.1:{running.upstream.port}\r\n\r\n".encode())
    async with asyncio.timeout(30):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204 ")


async def test_those_with_a_key_are_not_turned_out_for_newcomers(start) -> None:
    async def identify(flow) -> None:
        flow_state(flow).client.caller = caller_named("agt_1")

    running = await start(decide=Allow(before=identify), max_connections=2)
    both = [await running.tunnel() for _ in range(2)]
    for one in both:
        await ask(running, one)
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    async with asyncio.timeout(30):
        assert await reader.read() == b""
    for one in both:
        await ask(running, one)
    for _, open_writer in (*both, (reader, writer)):
        open_writer.close()
