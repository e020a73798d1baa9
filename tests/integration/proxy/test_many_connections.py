"""Connections of those who have no key do not keep out those who have one."""

import asyncio
from collections.abc import Awaitable, Callable

from mitmproxy.http import HTTPFlow

from addons.verdict import flow_state
from tests.integration.proxy.conftest import Allow, caller_named


async def test_the_oldest_without_a_key_give_way(start, answer) -> None:
    running = await start(decide=Allow(before=identified_as("agt_1")), max_connections=16)
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


def identified_as(*agents: str) -> Callable[[HTTPFlow], Awaitable[None]]:
    """The first connection is the first agent's, and so on; the last one's are all that follow."""
    left = list(agents)

    async def identify(flow: HTTPFlow) -> None:
        client = flow_state(flow).client
        if client.caller is None:
            client.identify(caller_named(left.pop(0) if len(left) > 1 else left[0]))

    return identify


async def test_an_organization_at_its_part_makes_room_within(start) -> None:
    running = await start(decide=Allow(before=identified_as("agt_1", "agt_2", "agt_3")), max_connections=3)
    # Three quarters at most, which are two here.
    each = []
    for _ in range(3):
        each.append(await running.tunnel())
        await ask(running, each[-1])
    async with asyncio.timeout(30):
        assert await each[0][0].read() == b""
    for one in each[1:]:
        await ask(running, one)
    for _, writer in each:
        writer.close()


async def test_one_agent_keeps_nobody_else_out(start, answer) -> None:
    running = await start(decide=Allow(before=identified_as("agt_1")), max_connections=12)
    first = await running.tunnel()
    await ask(running, first)
    others = []
    for _ in range(20):
        others.append(await running.tunnel())
        await ask(running, others[-1])
    assert running.gate.listener.connection_count <= 7
    # The one that has been idle the longest gave way.
    async with asyncio.timeout(30):
        assert await first[0].read() == b""
    await ask(running, others[-1])
    assert answer(await running.secure(running.get())).status == 200
    for _, writer in (first, *others):
        writer.close()
