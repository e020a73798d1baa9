"""WebSockets of a client that speaks HTTP/2 (RFC 8441): each is one stream of many, and the server sees HTTP/1.1."""

import asyncio
import base64
import gc
import hashlib
import json
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from h2.settings import SettingCodes
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage

from addons.refuse import refuse_with
from addons.verdict import flow_state
from headgate.gate.refusals import ActionDeniedError
from proxy.http2 import GateHttp2Server
from proxy.http2_sockets import UNTAKEN_MAX_BYTES
from proxy.websocket import DECIDED_AT_ONCE_MAX, UNREAD_BESIDE_OTHERS_MAX
from tests.http2_client import Http2Client, Stream
from tests.integration.proxy.decided_messages import FirstWaits, Messages

_OFFER = [(b"sec-websocket-extensions", b"permessage-deflate; client_max_window_bits")]


@dataclass
class SocketServer:
    """Answers what it is sent; plain requests too. ``protocols``: of each connection's TLS (ALPN)."""

    port: int = 0
    received: list[str | bytes] = field(default_factory=list)
    closes: list[int] = field(default_factory=list)
    protocols: list[str | None] = field(default_factory=list)
    heads: list[Request] = field(default_factory=list)
    written_bytes: int = 0

    def plainly(self, connection: ServerConnection, request: Request) -> Response | None:
        self.heads.append(request)
        if request.path == "/refused":
            return connection.respond(HTTPStatus.FORBIDDEN, "not here\n")
        return None if "upgrade" in request.headers else connection.respond(HTTPStatus.OK, "hello\n")

    async def talk(self, connection: ServerConnection) -> None:
        self.protocols.append(connection.transport.get_extra_info("ssl_object").selected_alpn_protocol())
        try:
            if connection.request is not None and connection.request.path == "/pours":
                while True:
                    await connection.send(bytes(65536))
                    self.written_bytes += 65536
            async for message in connection:
                self.received.append(message)
                if message == "close, please":
                    await connection.close(4001, "as you like")
                await connection.send(message)
        except ConnectionClosed:
            pass
        self.closes.append(connection.close_code or 0)


@pytest.fixture
async def server(upstream_tls: tuple[ssl.SSLContext, Path]) -> AsyncIterator[SocketServer]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_tls[1].parent / "leaf.pem")
    started = SocketServer()
    async with serve(
        started.talk, "127.0.0.1", 0, ssl=context, process_request=started.plainly, max_size=None
    ) as listening:
        started.port = listening.sockets[0].getsockname()[1]
        yield started


class Denies:
    def request(self, flow: Any) -> None:
        if flow.request.path == "/denied":
            refuse_with(flow, ActionDeniedError("no sockets", details={"action_id": "act_1"}))


@pytest.fixture
async def running(start: Any) -> Any:
    """``decide.messages`` are the decisions about every WebSocket's messages."""
    running = await start(before=(Denies(),))
    running.decide.messages = Messages()

    async def before(flow: Any) -> None:
        flow_state(flow).socket = running.decide.messages

    running.decide.before = before
    return running


@asynccontextmanager
async def connected(running: Any, port: int, *, window: int | None = None) -> AsyncIterator[Http2Client]:
    tunnel = partial(running.tunnel, alpn=["h2"], port=port)
    async with Http2Client(tunnel, f"127.0.0.1:{port}", window=window) as client:
        yield client
    await running.settled()


def code(stream: Stream) -> int:
    [close] = [event for event in stream.events if isinstance(event, CloseConnection)]
    return close.code


async def is_live(client: Http2Client) -> bool:
    """Whether the connection still answers, and opens WebSockets."""
    answered = await client.get("/").done()
    echoes = await client.connect().opened()
    echoes.send(TextMessage("still here"))
    await echoes.until(lambda one: one.messages)
    return (answered.status, echoes.messages) == (200, ["still here"])


def error_of(stream: Stream) -> tuple[int, str]:
    return stream.status, json.loads(stream.body)["error"]["code"]


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


async def test_a_denied_handshake_is_an_answer_on_its_stream(running, server) -> None:
    async with connected(running, server.port) as client:
        denied = await client.connect("/denied").done()
        assert error_of(denied) == (403, "ACTION_DENIED")
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
        assert error_of(stream) == (502, "UPSTREAM_FAILED")
        assert (await client.get("/").done()).status == 200
    [completion] = [one for one in running.decide.completions if one.error]
    assert "WebSocket" in str(completion.error)


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
        assert error_of(refused) == (403 if expected == "PROTOCOL_REFUSED" else 400, expected)
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
        assert error_of(refused) == (400, "REQUEST_AMBIGUOUS")
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
        assert error_of(stream) == (400, "REQUEST_AMBIGUOUS")
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


async def test_what_a_client_says_after_the_end_is_not_read_for_ever(running, server) -> None:
    async with connected(running, server.port) as client:
        stream = await client.connect().opened()
        stream.send(TextMessage("close, please"))
        await stream.done()
        client.data(stream.number, bytes(200_000))
        await stream.until(lambda one: one.reset_code is not None)
        assert stream.reset_code == 8
        assert await is_live(client)


async def test_a_handshake_that_nobody_takes_care_of(running, server) -> None:
    running.decide.messages = None
    async with connected(running, server.port) as client:
        stream = await client.connect().done()
        assert stream.reset_code is not None
        assert (await client.get("/").done()).status == 200
    assert server.received == []


async def test_too_many_refused_heads(running, server) -> None:
    async with connected(running, server.port) as client:
        async with asyncio.timeout(60):
            while client.goaway is None:
                client.connect(protocol=b"other", end_stream=True)
                await client.arrival()
        assert client.goaway == 11


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


@dataclass
class Handshakes:
    """A server that answers handshakes with ``fields`` beside its proof, and then says ``bytes_after``. ``/slow`` is
    answered after a second, ``/switch`` with a 101 that nobody asked for."""

    fields: bytes = b""
    bytes_after: bytes = b""
    targets: list[bytes] = field(default_factory=list)
    ended: list[bytes] = field(default_factory=list)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = b""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                target = head.split(b" ", 2)[1]
                self.targets.append(target)
                key = re.search(rb"(?i)sec-websocket-key: (\S+)", head)
                if key is not None:
                    await self._open(key[1], reader, writer)
                    return
                if target == b"/slow":
                    await asyncio.sleep(1)
                if target == b"/switch":
                    writer.write(
                        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
                    )
                else:
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.ended.append(target)
            writer.close()

    async def _open(self, key: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        proof = base64.b64encode(hashlib.sha1(key + _ACCEPTED_BY, usedforsecurity=False).digest())
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n")
        writer.write(b"Sec-WebSocket-Accept: " + proof + b"\r\n" + self.fields + b"\r\n")
        writer.write(self.bytes_after)
        await reader.read()


_ACCEPTED_BY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3


@asynccontextmanager
async def handshaking(upstream_tls: Any, handshakes: Handshakes) -> AsyncIterator[int]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_tls[1].parent / "leaf.pem")
    listening = await asyncio.start_server(handshakes.talk, "127.0.0.1", 0, ssl=context)
    yield listening.sockets[0].getsockname()[1]
    listening.close()


@pytest.mark.parametrize(
    "extensions",
    [b"foo", b"permessage-deflate; client_max_window_bits", b"permessage-deflate; server_max_window_bits=8"],
)
async def test_an_extension_that_nobody_can_read_opens_nothing(running, upstream_tls, extensions: bytes) -> None:
    handshakes = Handshakes(b"Sec-WebSocket-Extensions: " + extensions + b"\r\n")
    async with handshaking(upstream_tls, handshakes) as port, connected(running, port) as client:
        slow = client.get("/slow")
        stream = await client.connect().done()
        assert error_of(stream) == (502, "UPSTREAM_FAILED")
        assert (await slow.done()).body == b"hello"


async def test_a_101_to_a_plain_request_ends_its_stream_alone(running, upstream_tls) -> None:
    async with handshaking(upstream_tls, Handshakes()) as port, connected(running, port) as client:
        slow = client.get("/slow")
        assert error_of(await client.get("/switch").done()) == (502, "UPSTREAM_FAILED")
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
