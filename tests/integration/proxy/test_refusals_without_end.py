"""Requests that are refused, as many as a client can send: each refusal ends its connection, and others are served."""

import asyncio
import time

import pytest

from addons.measure import Measure
from addons.refuse import refuse_with
from addons.share import REFUSALS_AT_ONCE
from addons.verdict import is_open
from headgate.audit.count_refusals import RefusalCounts
from headgate.db.database import Database
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import AgentUnauthorizedError
from headgate.kernel.secrets import Secret
from tests.integration.proxy.conftest import LOOPBACK, Allow

_MEGABYTE = 1 << 20


class NoKey:
    """Refuses as ``addons.identify`` does where no key is shown."""

    async def requestheaders(self, flow) -> None:
        await asyncio.sleep(0)
        if is_open(flow):
            refuse_with(flow, AgentUnauthorizedError("no agent key"))


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nHost: x:y:z\r\n\r\n",  # framing
        b"GET http://0x7f.1/ HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n",  # host
        b"GET http://127.0.0.1/a/../b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",  # path
        b"CONNECT 0x7f.1:443 HTTP/1.1\r\nHost: 0x7f.1:443\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",  # addressed to the proxy itself
        b"GET /ca.pem HTTP/1.1\r\nHost: here\r\n\r\n",
    ],
    ids=["framing", "host", "path", "connect", "to the proxy", "certificate"],
)
async def test_one_answer_and_the_end(start, request_bytes: bytes) -> None:
    running = await start()
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    async with asyncio.timeout(30):
        writer.write(request_bytes * (_MEGABYTE // len(request_bytes)))
        received = b""
        try:
            while data := await reader.read(1 << 20):
                received += data
        except ConnectionResetError:
            pass  # what was not read
    writer.close()
    assert received.count(b"HTTP/1.1 ") <= 1
    await running.settled()


async def test_refusals_inside_of_a_tunnel_end_it(start, answer) -> None:
    running = await start()
    received = await running.secure(
        running.get("/a/../b").replace(b"Connection: close\r\n", b"") * 1000, wait_seconds=30
    )
    assert received.count(b"HTTP/1.1 ") == 1
    assert answer(received).headers["connection"] == "close"


async def test_an_address_is_refused_so_often_over_one_connection(start, answer) -> None:
    measure = Measure(RefusalCounts(Database(Secret("postgresql://nowhere")), system_clock))
    running = await start(measure, before=[NoKey()])
    port = running.upstream.plain_port
    request = f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    began = time.monotonic()
    answered = 0
    async with asyncio.timeout(60):
        while True:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 407 ")
            await reader.readexactly(int(answer(head).headers["content-length"]))
            answered += 1
            if b"connection: close" in head:
                break
    assert REFUSALS_AT_ONCE <= answered <= REFUSALS_AT_ONCE + 60 * (time.monotonic() - began)
    assert await reader.read() == b""
    writer.close()
    # And then no connection from there is taken for a moment, while those that have shown a key go on.
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    async with asyncio.timeout(30):
        assert await reader.read() == b""
    writer.close()


async def test_pipelined_requests_that_are_allowed_are_all_answered(start) -> None:
    running = await start(decide=Allow(rules=LOOPBACK))
    request = running.get("/empty").replace(b"Connection: close\r\n", b"")
    reader, writer = await running.tunnel()
    writer.write(request * 50)
    async with asyncio.timeout(60):
        for _ in range(50):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204 ")
    writer.close()
