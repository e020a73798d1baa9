"""Handshakes of WebSockets over HTTP/2 that open nothing: they end their stream alone, and the server sees none that
was refused or given up."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from wsproto.events import TextMessage

from tests.integration.proxy.http2_sockets.socket_server import Handshakes, handshaking
from tests.integration.proxy.http2_sockets.streams import connected, is_live


async def test_a_denied_handshake_is_an_answer_on_its_stream(running, server) -> None:
    async with connected(running, server.port) as client:
        denied = await client.connect("/denied").done()
        assert denied.error == (403, "ACTION_DENIED")
        client.data(denied.number, b"x" * 100, end_stream=True)
        assert await is_live(client)
    assert "/denied" not in [one.path for one in server.heads]


async def test_what_the_server_answers_in_place_of_a_socket(running, server) -> None:
    async with connected(running, server.port) as client:
        refused = await client.connect("/refused").done()
        assert (refused.status, refused.body) == (403, b"not here\n")
        assert await is_live(client)
    assert 403 in [one.status for one in running.decide.completions]


_NO_SOCKET = {
    "2xx": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "no proof": b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "another proof": b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
}


@pytest.mark.parametrize("answer", _NO_SOCKET.values(), ids=_NO_SOCKET.keys())
async def test_an_answer_that_opens_nothing_is_not_taken_for_one_that_does(running, answer: bytes) -> None:
    running.upstream.scripts[b"/socket"] = [answer]
    async with connected(running, running.upstream.port) as client:
        stream = await client.connect().done()
        assert stream.error == (502, "UPSTREAM_FAILED")
        assert (await client.get("/").done()).status == 200
    [completion] = [one for one in running.decide.completions if one.error]
    assert "WebSocket" in str(completion.error)


_REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no protocol": ({"protocol": None, "scheme": None, "path": None}, "REQUEST_AMBIGUOUS"),
    "another protocol": ({"protocol": b"connect-udp"}, "PROTOCOL_REFUSED"),
    "another spelling": ({"protocol": b"WebSocket"}, "PROTOCOL_REFUSED"),
    "another scheme": ({"scheme": b"http"}, "REQUEST_AMBIGUOUS"),
    "a length": ({"headers": [(b"content-length", b"0")]}, "REQUEST_AMBIGUOUS"),
    "a key": ({"headers": [(b"sec-websocket-key", b"dGhlIHNhbXBsZSBub25jZQ==")]}, "REQUEST_AMBIGUOUS"),
    "another version": ({"headers": [(b"sec-websocket-version", b"8")]}, "PROTOCOL_REFUSED"),
    "another host": ({"authority": b"127.0.0.1:1"}, "REQUEST_AMBIGUOUS"),
    "a dot segment": ({"path": "/a/../b"}, "REQUEST_AMBIGUOUS"),
    "nothing to say": ({"end_stream": True}, "REQUEST_AMBIGUOUS"),
}


@pytest.mark.parametrize(("asked", "expected"), _REFUSED.values(), ids=_REFUSED.keys())
async def test_a_head_that_is_refused_ends_no_other_stream(running, server, asked, expected: str) -> None:
    async with connected(running, server.port) as client:
        other = await client.connect().opened()
        refused = await client.connect(**asked).done()
        assert refused.error == (403 if expected == "PROTOCOL_REFUSED" else 400, expected)
        other.send(TextMessage("still open"))
        await other.until(lambda one: one.messages)
        assert await is_live(client)
    assert len([one for one in server.heads if "upgrade" in one.headers]) == 2


_MALFORMED: dict[str, dict[str, Any]] = {
    "another method": {"method": b"GET"},
    "no scheme": {"scheme": None},
    "no path": {"path": None},
    "a transfer coding": {"headers": [(b"transfer-encoding", b"chunked")]},
    "an upgrade": {"headers": [(b"upgrade", b"websocket")]},
}


@pytest.mark.parametrize("asked", _MALFORMED.values(), ids=_MALFORMED.keys())
async def test_a_head_that_http2_forbids_is_answered(running, server, asked) -> None:
    """As any such head, it ends the connection (RFC 9113, 8.1.1)."""
    async with connected(running, server.port) as client:
        refused = await client.connect(**asked).done()
        assert refused.error == (400, "REQUEST_AMBIGUOUS")
    assert server.heads == []


def decision_of_slow(running: Any) -> asyncio.Event:
    """``/slow`` is decided once it is set."""
    decided = asyncio.Event()
    before = running.decide.before

    async def slowly(flow: Any) -> None:
        if flow.request.path == "/slow":
            await decided.wait()
        await before(flow)

    running.decide.before = slowly
    return decided


@pytest.mark.parametrize("ends", [True, False])
async def test_what_comes_before_the_answer_is_refused(running, server, ends: bool) -> None:
    decided = decision_of_slow(running)
    async with connected(running, server.port) as client:
        stream = client.connect("/slow")
        client.data(stream.number, stream.socket.send(TextMessage("early")), end_stream=ends)
        await stream.done()
        assert stream.error == (400, "REQUEST_AMBIGUOUS")
        decided.set()
        assert await is_live(client)
    assert server.received == ["still here"]
    assert "/slow" not in [one.path for one in server.heads]


async def test_a_client_that_ends_before_the_answer(running, server) -> None:
    decided = decision_of_slow(running)
    async with connected(running, server.port) as client:
        stream = client.connect("/slow")
        client.data(stream.number, b"", end_stream=True)
        await stream.done()
        assert stream.reset_code == 8
        decided.set()
        assert await is_live(client)
    assert "/slow" not in [one.path for one in server.heads]


async def test_a_handshake_that_nobody_takes_care_of(running, server) -> None:
    running.decide.messages = None
    async with connected(running, server.port) as client:
        stream = await client.connect().done()
        assert stream.reset_code is not None
        assert (await client.get("/").done()).status == 200
    assert server.received == []


@pytest.mark.parametrize(
    "extensions",
    [b"foo", b"permessage-deflate; client_max_window_bits", b"permessage-deflate; server_max_window_bits=8"],
)
async def test_an_extension_that_nobody_can_read_opens_nothing(running, upstream_tls, extensions: bytes) -> None:
    handshakes = Handshakes(b"Sec-WebSocket-Extensions: " + extensions + b"\r\n")
    async with handshaking(upstream_tls, handshakes) as port, connected(running, port) as client:
        slow = client.get("/slow")
        stream = await client.connect().done()
        assert stream.error == (502, "UPSTREAM_FAILED")
        assert (await slow.done()).body == b"hello"


async def test_a_101_to_a_plain_request_ends_its_stream_alone(running, upstream_tls) -> None:
    async with handshaking(upstream_tls, Handshakes()) as port, connected(running, port) as client:
        slow = client.get("/slow")
        assert (await client.get("/switch").done()).error == (502, "UPSTREAM_FAILED")
        assert (await slow.done()).body == b"hello"


@pytest.mark.parametrize("how", ["reset", "early data", "end"])
async def test_a_handshake_that_was_given_up_while_the_server_was_reached_is_not_sent(
    running, upstream_tls, how: str
) -> None:
    handshakes = Handshakes()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes the bytes on, after a second."""
        await asyncio.sleep(1)
        ends = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pipe(reader, ends[1]), _pipe(ends[0], writer))

    async with handshaking(upstream_tls, handshakes) as port:
        listening = await asyncio.start_server(late, "127.0.0.1", 0)
        async with connected(running, listening.sockets[0].getsockname()[1]) as client:
            stream = client.connect("/given-up")
            await asyncio.sleep(0.3)
            if how == "reset":
                client.reset(stream)
            else:
                client.data(stream.number, b"early" if how == "early data" else b"", end_stream=how == "end")
            await asyncio.sleep(1.5)
            assert (await client.get("/").done()).status == 200
        listening.close()
    assert handshakes.targets == [b"/"]


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()


class SlowAnswer:
    async def response(self, flow: Any) -> None:
        if flow.request.path == "/looked-at":
            await asyncio.sleep(0.6)


async def test_a_server_is_left_when_its_client_leaves_while_the_answer_is_looked_at(start, upstream_tls) -> None:
    running = await start(before=(SlowAnswer(),))
    handshakes = Handshakes()
    async with handshaking(upstream_tls, handshakes) as port, connected(running, port) as client:
        stream = client.connect("/looked-at")
        async with asyncio.timeout(10):
            while not handshakes.targets:
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        client.reset(stream)
        async with asyncio.timeout(10):
            while handshakes.ended != [b"/looked-at"]:
                await asyncio.sleep(0.02)
        assert (await client.get("/").done()).status == 200
