"""What a client or a server of WebSockets over HTTP/2 can make the gate keep or do has a bound, and costs other streams
nothing."""

import asyncio
import gc
from typing import Any

import pytest
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage

from proxy.http2 import GateHttp2Server
from proxy.http2_sockets import UNTAKEN_MAX_BYTES
from proxy.websocket import DECIDED_AT_ONCE_MAX, UNREAD_BESIDE_OTHERS_MAX
from tests.integration.proxy.decided_messages import FirstWaits, Messages
from tests.integration.proxy.http2_sockets.socket_server import Handshakes, handshaking
from tests.integration.proxy.http2_sockets.streams import code, connected, is_live


async def test_what_comes_behind_a_message_that_waits_is_not_kept_without_a_bound(running, server) -> None:
    waiting = FirstWaits(wait=asyncio.Event())
    async with connected(running, server.port) as client:
        running.decide.messages = waiting
        stream = await client.connect().opened()
        stream.send(*(BytesMessage(b"%d" % number) for number in range(DECIDED_AT_ONCE_MAX)))
        for _ in range(UNREAD_BESIDE_OTHERS_MAX // 16_000 + 2):
            stream.send(BytesMessage(bytes(16_000)))
            await client.writer.drain()
        await stream.done()
        assert code(stream) == 1013
        running.decide.messages = Messages()
        assert await is_live(client)
        assert running.gate.budget.used_bytes == 0
    assert server.received == ["still here"]
    assert waiting.ended == ["not sent"] * (DECIDED_AT_ONCE_MAX - 1)


async def test_a_busy_client_whose_messages_are_decided_slowly_is_not_cut_off(running, server) -> None:
    turn = asyncio.Lock()

    class OneByOne(Messages):
        async def decide(self, content: bytes, *, is_text: bool, charge: Any, arrived: Any) -> Any:
            async with turn:
                await asyncio.sleep(0.001)
            return await super().decide(content, is_text=is_text, charge=charge, arrived=arrived)

    message = BytesMessage(bytes(8_000))
    more = 2 * UNREAD_BESIDE_OTHERS_MAX // 8_000
    async with connected(running, server.port) as client:
        running.decide.messages = OneByOne()
        stream = await client.connect().opened()
        stream.send(*[message] * (DECIDED_AT_ONCE_MAX + 8))
        for number in range(1, more):
            await stream.until(lambda one, number=number: len(b"".join(one.messages)) >= 8_000 * number)
            stream.send(message)
        assert not stream.has_ended
        assert not [event for event in stream.events if isinstance(event, CloseConnection)]


async def test_messages_that_do_not_end_count_in_the_budget(running, server) -> None:
    """A connection may have a hundred of them at once."""
    budget = running.gate.budget
    async with connected(running, server.port) as client:
        streams = [await client.connect().opened() for _ in range(3)]
        for stream in streams:
            stream.send(BytesMessage(bytes(100_000), message_finished=False))
        async with asyncio.timeout(10):
            while budget.used_bytes != 300_000:
                await asyncio.sleep(0.02)
        budget.limit_bytes = 350_000
        streams[0].send(BytesMessage(bytes(100_000), message_finished=False))
        await streams[0].done()
        assert code(streams[0]) == 1013
        streams[1].send(BytesMessage(b""))
        await streams[1].until(lambda one: one.messages)
        assert budget.used_bytes == 100_000
        client.reset(streams[2])
        async with asyncio.timeout(10):
            while budget.used_bytes:
                await asyncio.sleep(0.02)
        assert await is_live(client)


async def test_a_client_that_does_not_read_is_sent_no_more(running, server) -> None:
    async with connected(running, server.port, window=0) as client:
        stream = await client.connect("/pours").opened()
        before = -1
        async with asyncio.timeout(30):
            while server.written_bytes != before or before == 0:
                before = server.written_bytes
                await asyncio.sleep(0.5)
        assert before < 24 << 20
        other = client.get("/")
        client.h2.increment_flow_control_window(1 << 16, other.number)
        client.flush()
        assert (await other.done()).status == 200
        assert stream.events == []


async def test_a_client_that_pings_and_does_not_read(running, server) -> None:
    """The gate answers pings itself: the answers would be kept for ever."""
    async with connected(running, server.port, window=0) as client:
        stream = await client.connect().opened()
        pings = b"".join(stream.socket.send(Ping(b"x" * 100)) for _ in range(150))
        async with asyncio.timeout(60):
            while stream.reset_code is None:
                client.data(stream.number, pings)
                await client.writer.drain()
                await asyncio.sleep(0.01)
        assert stream.reset_code == 11
        other = client.get("/")
        client.h2.increment_flow_control_window(1 << 16, other.number)
        client.flush()
        assert (await other.done()).status == 200


async def test_many_sockets_that_ping_and_do_not_read_share_one_bound(running, server) -> None:
    async with connected(running, server.port, window=0) as client:
        streams = [await client.connect().opened() for _ in range(10)]
        pings = b"".join(streams[0].socket.send(Ping(b"x" * 100)) for _ in range(60))
        for _ in range(2 * UNTAKEN_MAX_BYTES // (60 * 350 * 10)):
            for stream in streams:
                if stream.reset_code is None:
                    client.data(stream.number, pings)
            await client.writer.drain()
            await asyncio.sleep(0.01)
        async with asyncio.timeout(30):
            while 11 not in [one.reset_code for one in streams]:
                await asyncio.sleep(0.05)
        other = client.get("/")
        client.h2.increment_flow_control_window(1 << 16, other.number)
        client.flush()
        assert (await other.done()).status == 200


async def test_what_a_client_says_after_the_end_is_not_read_for_ever(running, server) -> None:
    async with connected(running, server.port) as client:
        stream = await client.connect().opened()
        stream.send(TextMessage("close, please"))
        await stream.done()
        client.data(stream.number, bytes(200_000))
        await stream.until(lambda one: one.reset_code is not None)
        assert stream.reset_code == 8
        assert await is_live(client)


async def test_too_many_refused_heads(running, server) -> None:
    async with connected(running, server.port) as client:
        async with asyncio.timeout(60):
            while client.goaway is None:
                client.connect(protocol=b"other", end_stream=True)
                await client.arrival()
        assert client.goaway == 11


async def test_handshakes_that_were_refused_are_forgotten(running, server) -> None:
    async with connected(running, server.port, window=0) as client:
        for path, protocol in (("/denied", b"websocket"), ("/socket", b"other")) * 5:
            stream = client.connect(path, protocol=protocol)
            await stream.until(lambda one: one.status)
            client.data(stream.number, b"", end_stream=True)
            client.h2.increment_flow_control_window(1 << 16, stream.number)
            client.flush()
            await stream.done()
        await client.connect("/denied").until(lambda one: one.status)
        [http2] = [one for one in gc.get_objects() if isinstance(one, GateHttp2Server) and one.conn.connected]
        assert http2._sockets is not None
        assert len(http2._sockets._sockets) <= 2


@pytest.mark.parametrize("frame", [b"\x82\x00", b"\x89\x00"], ids=["messages", "pings"])
async def test_a_server_that_says_little_very_often_stops_no_other_stream(running, upstream_tls, frame: bytes) -> None:
    frames = 50_000
    async with (
        handshaking(upstream_tls, Handshakes(bytes_after=frame * frames)) as port,
        connected(running, port) as client,
    ):
        stream = client.connect()
        await stream.until(lambda one: one.events)
        for _ in range(2):
            await client.get("/").done()
        # 1,000 to 4,500; where the client is not read meanwhile, half of them.
        assert len(stream.events) < frames // 4
