"""WebSockets of a client that speaks HTTP/2 (RFC 8441): each is one stream of many, and the server sees HTTP/1.1."""

import asyncio
import ssl
from typing import Any

import pytest
from h2.settings import SettingCodes
from websockets.asyncio.server import serve
from wsproto.events import BytesMessage, CloseConnection, TextMessage

from headgate.gate.refusals import ActionDeniedError
from proxy.websocket import DECIDED_AT_ONCE_MAX
from tests.integration.proxy.decided_messages import FirstWaits, Messages
from tests.integration.proxy.http2_sockets.socket_server import SocketServer
from tests.integration.proxy.http2_sockets.streams import code, connected, is_live

_OFFER = [(b"sec-websocket-extensions", b"permessage-deflate; client_max_window_bits")]


@pytest.mark.parametrize("offer", [_OFFER, []], ids=["deflate", "plain"])
async def test_messages_pass_both_ways(running, server, offer) -> None:
    async with connected(running, server.port) as client:
        assert client.h2.remote_settings[SettingCodes.ENABLE_CONNECT_PROTOCOL] == 1
        stream = await client.connect("/socket?a=b", [*offer, (b"cookie", b"a=1"), (b"cookie", b"b=2")]).opened()
        assert (b"sec-websocket-extensions" in stream.head) == bool(offer)
        assert not {b"sec-websocket-accept", b"upgrade", b"connection"} & stream.head.keys()
        sent: list[Any] = ["hello", b"\x00\xff" * 40_000, "ü" * 30_000, ""]
        stream.send(*(TextMessage(one) if isinstance(one, str) else BytesMessage(one) for one in sent))
        await stream.until(lambda one: len(one.events) and len(server.received) == len(sent))
        stream.send(CloseConnection(1000))
        await stream.done()
        assert (code(stream), stream.has_ended, stream.reset_code) == (1000, True, None)
        text = "".join(one for one in stream.messages if isinstance(one, str))
        assert (text, b"".join(one for one in stream.messages if isinstance(one, bytes))) == (
            "hello" + sent[2],
            sent[1],
        )
        assert await is_live(client)
    assert server.received[: len(sent)] == sent
    head = server.heads[0]
    assert (head.path, head.headers["cookie"], head.headers["host"]) == (
        "/socket?a=b",
        "a=1; b=2",
        f"127.0.0.1:{server.port}",
    )
    assert running.decide.completions[0].status == 101
    assert server.closes[0] == 1000


async def test_a_server_that_prefers_http2_gets_a_handshake_of_http1(running, upstream_tls) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_tls[1].parent / "leaf.pem")
    context.set_alpn_protocols(["h2", "http/1.1"])
    started = SocketServer()
    async with (
        serve(started.talk, "127.0.0.1", 0, ssl=context) as listening,
        connected(running, listening.sockets[0].getsockname()[1]) as client,
    ):
        stream = await client.connect().opened()
        stream.send(TextMessage("hello"))
        await stream.until(lambda one: one.messages)
    assert started.protocols == ["http/1.1"]


@pytest.mark.parametrize("refusal", [RuntimeError("a fault"), ActionDeniedError("no", details={"action_id": "act_1"})])
async def test_a_refused_message_ends_its_stream_alone(running, server, refusal: Exception) -> None:
    async with connected(running, server.port) as client:
        other = await client.connect().opened()
        running.decide.messages = Messages(refusal)
        stream = await client.connect().opened()
        stream.send(TextMessage("forbidden"), TextMessage("behind"))
        await stream.done()
        assert (code(stream), stream.has_ended) == (1011 if isinstance(refusal, RuntimeError) else 1008, True)
        other.send(TextMessage("allowed"))
        await other.until(lambda one: one.messages)
        running.decide.messages = Messages()
        assert await is_live(client)
    assert server.received == ["allowed", "still here"]
    if isinstance(refusal, ActionDeniedError):
        [close] = [event for event in stream.events if isinstance(event, CloseConnection)]
        assert close.reason == "Denied by policy act_1"


async def test_a_message_that_waits_stops_no_other_stream(running, server) -> None:
    waiting = FirstWaits(wait=asyncio.Event())
    async with connected(running, server.port) as client:
        running.decide.messages = waiting
        stream = await client.connect().opened()
        stream.send(*(BytesMessage(b"%d" % number) for number in range(DECIDED_AT_ONCE_MAX)))
        stream.send(*(BytesMessage(b"x" * 4000) for _ in range(50)))
        running.decide.messages = Messages()
        assert await is_live(client)
        assert stream.messages == []
        waiting.wait.set()  # type: ignore[union-attr]
        await stream.until(lambda one: len(b"".join(one.messages)) >= 200_000)
    assert server.received[1] == b"0"


async def test_a_message_has_its_place_from_its_arrival(running, server) -> None:
    """Decisions wait for their turn, and begin in another order on a busy machine: pieces of a secret would be joined
    in that order."""
    places: dict[bytes, int] = {}

    class Noted(Messages):
        async def decide(self, content: bytes, *, is_text: bool, charge: Any, arrived: Any) -> Any:
            places[content] = arrived
            return await super().decide(content, is_text=is_text, charge=charge, arrived=arrived)

    async with connected(running, server.port) as client:
        running.decide.messages = Noted()
        stream = await client.connect().opened()
        sent = [b"%d" % number for number in range(2 * DECIDED_AT_ONCE_MAX)]
        stream.send(*(BytesMessage(one) for one in sent))
        await stream.until(lambda one: len(one.messages) == len(sent))
    assert places == {one: number for number, one in enumerate(sent)}


async def test_a_server_that_closes(running, server) -> None:
    async with connected(running, server.port) as client:
        stream = await client.connect().opened()
        stream.send(TextMessage("close, please"))
        await stream.done()
        assert (code(stream), stream.has_ended) == (4001, True)
        assert await is_live(client)


@pytest.mark.parametrize("how", ["end of the stream", "reset", "end of the connection"])
async def test_a_client_that_leaves(running, server, how: str) -> None:
    running.decide.messages = FirstWaits(wait=asyncio.Event())
    async with connected(running, server.port) as client:
        stream = await client.connect().opened()
        stream.send(BytesMessage(b"0"), BytesMessage(b"second"))
        await asyncio.sleep(0.2)
        if how == "reset":
            client.reset(stream)
        elif how == "end of the stream":
            client.data(stream.number, b"", end_stream=True)
            await stream.done()
            assert (code(stream), stream.has_ended) == (1001, True)
        else:
            client.writer.transport.abort()
        async with asyncio.timeout(30):
            while not server.closes:
                await asyncio.sleep(0.02)
        assert running.decide.messages.left
        assert running.decide.messages.ended == ["not sent"]
        if how != "end of the connection":
            running.decide.messages = Messages()
            assert await is_live(client)
    assert b"second" not in server.received


async def test_many_sockets_and_requests_of_one_connection(running, server) -> None:
    async with connected(running, server.port) as client:
        streams = [client.connect() for _ in range(20)]
        plain = [client.get("/") for _ in range(20)]
        for number, stream in enumerate(streams):
            (await stream.opened()).send(*(TextMessage(f"{number} {count}") for count in range(10)))
        for number, stream in enumerate(streams):
            await stream.until(lambda one: len(one.messages) == 10)
            assert stream.messages == [f"{number} {count}" for count in range(10)]
        for one in plain:
            assert (await one.done()).status == 200
        for stream in streams:
            stream.send(CloseConnection(1000))
            await stream.done()
            client.data(stream.number, b"", end_stream=True)
        assert await is_live(client)
