"""Answers that are inspected, on either side over HTTP/2."""

import asyncio
import json
from contextlib import asynccontextmanager

import h2.config
import h2.connection
import h2.events
import pytest

from addons.inspection import AnswerLimits
from headgate.nlp_policies.model import NlpResult
from headgate.policies.model import Verdict
from tests.integration.proxy.answers.scripts import (
    CHUNKED,
    MAIL,
    SECRETS,
    TOKEN,
    chunk,
    event,
    plain,
    policy,
)


@pytest.fixture
def http2_client():
    return h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))


async def over_http2(running, client, path: str) -> tuple[dict[str, str], bytes, bool]:
    """Head, body, and whether the stream ended as it should."""
    reader, writer = await running.tunnel(alpn=["h2"])
    client.initiate_connection()
    authority = f"127.0.0.1:{running.upstream.port}"
    fields = [(":method", "GET"), (":scheme", "https"), (":path", path), (":authority", authority)]
    client.send_headers(1, fields, end_stream=True)
    writer.write(client.data_to_send())
    head, body = {}, b""
    async with asyncio.timeout(10):
        while data := await reader.read(65536):
            for one in client.receive_data(data):
                if isinstance(one, h2.events.ResponseReceived):
                    head = {name.decode(): value.decode() for name, value in one.headers}
                elif isinstance(one, h2.events.DataReceived):
                    body += one.data
                    client.acknowledge_received_data(one.flow_controlled_length, 1)
                elif isinstance(one, h2.events.StreamEnded | h2.events.StreamReset):
                    writer.close()
                    return head, body, isinstance(one, h2.events.StreamEnded)
            writer.write(client.data_to_send())
    raise AssertionError("the connection ended before the stream")


async def test_over_http2(inspect, http2_client) -> None:
    running = await inspect()
    running.upstream.scripts[b"/it"] = [plain(MAIL.encode())]
    head, body, ended = await over_http2(running, http2_client, "/it")
    assert (head[":status"], ended) == ("403", True)
    assert json.loads(body)["error"]["code"] == "RESPONSE_WITHHELD"
    await running.settled()
    assert running.gate.budget.used_bytes == 0


async def test_a_stream_over_http2_is_reset_where_it_is_cut(inspect, http2_client) -> None:
    running = await inspect(SECRETS)
    running.upstream.scripts[b"/it"] = [
        CHUNKED + b"text/event-stream\r\n\r\n",
        event("hello"),
        event(TOKEN),
        b"0\r\n\r\n",
    ]
    head, body, ended = await over_http2(running, http2_client, "/it")
    assert (head[":status"], ended) == ("200", False)
    assert body.startswith(b"data: hello\n\nevent: error\ndata: ")
    assert TOKEN.encode() not in body
    await running.settled()
    assert running.decide.completions[0].inspection["withheld"] is True


async def test_a_broken_answer_over_http2_says_nothing_of_it(inspect, http2_client) -> None:
    running = await inspect()
    running.upstream.scripts[b"/it"] = [CHUNKED + b"text/plain\r\n\r\n", chunk(b"x"), b"zz" + MAIL.encode() + b"\r\n"]
    head, body, _ = await over_http2(running, http2_client, "/it")
    assert head[":status"] == "502"
    assert MAIL.encode() not in body


class Http2Upstream(asyncio.Protocol):
    """Answers with ``fields``, ``body`` and ``trailers``; without trailers the stream stays open."""

    fields: list[tuple[str, str]]
    bodies: list[bytes]
    trailers: list[tuple[str, str]] | None
    resets: list[int]
    status = 200

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self.connection.initiate_connection()
        transport.write(self.connection.data_to_send())

    def data_received(self, data: bytes) -> None:
        for one in self.connection.receive_data(data):
            if isinstance(one, h2.events.RequestReceived):
                self.connection.send_headers(one.stream_id, [(":status", str(self.status)), *self.fields])
                for body in self.bodies:
                    self.connection.send_data(one.stream_id, body)
                if self.trailers is not None:
                    self.connection.send_headers(one.stream_id, self.trailers, end_stream=True)
            elif isinstance(one, h2.events.StreamReset):
                self.resets.append(one.stream_id)
        self.transport.write(self.connection.data_to_send())


@asynccontextmanager
async def listening(upstream, upstream_tls):
    upstream_tls[0].set_alpn_protocols(["h2"])
    server = await asyncio.get_running_loop().create_server(upstream, "127.0.0.1", 0, ssl=upstream_tls[0])
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        upstream_tls[0].set_alpn_protocols(["http/1.1"])
        server.close()


@pytest.mark.parametrize(
    ("fields", "bodies", "trailers", "status"),
    [
        ([], [b"fine"], [("x-sum", "fine")], 200),
        ([], [b"fine"], [("x-sum", MAIL)], 403),
        ([], [MAIL[:9].encode(), MAIL[9:].encode()], [("x-sum", "fine")], 403),
        ([("content-length", "9000000")], [b"fine"], None, 403),
        ([("content-type", "text/event-stream")], [b"data: fine\n\n", b"data: " + MAIL.encode() + b"\n\n"], None, 200),
    ],
)
async def test_a_destination_that_speaks_http2(
    inspect, http2_client, upstream_tls, fields, bodies, trailers, status
) -> None:
    class Upstream(Http2Upstream):
        pass

    Upstream.fields, Upstream.bodies, Upstream.trailers, Upstream.resets = fields, bodies, trailers, []
    async with listening(Upstream, upstream_tls) as port:
        running = await inspect()
        running.upstream.port = port
        head, body, _ = await over_http2(running, http2_client, "/it")
        assert head[":status"] == str(status)
        assert MAIL.encode() not in body
        if trailers is None:
            assert b"RESPONSE_WITHHELD" in body
            assert Upstream.resets == [1]
        await running.settled()
        assert running.gate.budget.used_bytes == 0


@pytest.mark.parametrize("status", [204, 304])
async def test_a_body_where_there_is_none(inspect, http2_client, upstream_tls, status) -> None:
    """HTTP/2 does not keep a destination from it, and some clients read it."""

    class Upstream(Http2Upstream):
        pass

    Upstream.fields, Upstream.bodies, Upstream.trailers, Upstream.resets = [], [MAIL.encode()], [("x-sum", "1")], []
    Upstream.status = status
    async with listening(Upstream, upstream_tls) as port:
        running = await inspect()
        running.upstream.port = port
        head, body, _ = await over_http2(running, http2_client, "/it")
        assert head[":status"] == "403"
        assert b"a body where there is none" in body
        assert MAIL.encode() not in body
        await running.settled()


async def test_a_late_answer_that_is_looked_at_stops_no_other_stream(inspect, http2_client) -> None:
    looking, looked = asyncio.Event(), asyncio.Event()

    async def asking() -> list[NlpResult]:
        if not looking.is_set():
            looking.set()
            await looked.wait()
        return []

    passes = policy(on_unscannable=Verdict.ALLOW)
    running = await inspect(passes, limits=AnswerLimits(seconds=0.2), asking=asking)
    running.upstream.scripts[b"/slow"] = [CHUNKED + b"text/plain\r\n\r\n", chunk(b"x" * 2000), *[b""] * 400]
    reader, writer = await running.tunnel(alpn=["h2"])
    http2_client.initiate_connection()
    authority = f"127.0.0.1:{running.upstream.port}"
    answered: list[int] = []

    async def ask(stream: int, path: str) -> None:
        fields = [(":method", "GET"), (":scheme", "https"), (":path", path), (":authority", authority)]
        http2_client.send_headers(stream, fields, end_stream=True)
        writer.write(http2_client.data_to_send())

    try:
        async with asyncio.timeout(10):
            await ask(1, "/slow")
            await looking.wait()
            await ask(3, "/")
            while 3 not in answered:
                received = http2_client.receive_data(await reader.read(65536))
                answered += [one.stream_id for one in received if isinstance(one, h2.events.ResponseReceived)]
                writer.write(http2_client.data_to_send())
        assert answered == [3]
    finally:
        looked.set()
        writer.close()
