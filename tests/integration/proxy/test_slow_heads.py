"""A head that trickles in keeps no connection open; one that is idle between requests stays."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import suppress

import h2.config
import h2.connection
import pytest

from addons.limits import RequestLimits

_SECONDS = 0.6
_QUICK = RequestLimits(head_seconds=_SECONDS)


async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pieces: Iterator[bytes]) -> float:
    """Seconds until the gate closes, while one piece after the other is sent in less than the deadline."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    ended = asyncio.ensure_future(reader.read())
    async with asyncio.timeout(10):
        for piece in pieces:
            if ended.done():
                break
            writer.write(piece)
            await asyncio.wait({ended}, timeout=_SECONDS / 6)
        with suppress(ConnectionResetError):  # what was on its way when the gate closed
            assert await ended == b""
    writer.close()
    return loop.time() - began


def bytewise(head: bytes) -> Iterator[bytes]:
    return (head[index : index + 1] for index in range(len(head)))


async def test_a_plain_head(start) -> None:
    running = await start(limits=_QUICK)
    connection = await asyncio.open_connection("127.0.0.1", running.port)
    assert await trickle(*connection, bytewise(b"GET http://127.0.0.1/" + b"a" * 500)) < 3 * _SECONDS
    await running.settled()


async def test_nothing_at_all(start) -> None:
    running = await start(limits=_QUICK)
    connection = await asyncio.open_connection("127.0.0.1", running.port)
    assert _SECONDS * 0.9 < await trickle(*connection, iter(())) < 3 * _SECONDS


async def test_the_second_head_of_a_tunnel(start, answer) -> None:
    running = await start(limits=_QUICK)
    reader, writer = await running.tunnel()
    for _ in range(2):
        # Idle for longer than a head may take, before the first request and between two.
        await asyncio.sleep(2 * _SECONDS)
        writer.write(running.get("/empty").replace(b"Connection: close\r\n", b""))
        assert answer(await reader.readuntil(b"\r\n\r\n")).status == 204
    assert await trickle(reader, writer, bytewise(b"GET /" + b"a" * 500)) < 3 * _SECONDS
    await running.settled()


@pytest.mark.parametrize(("first_bytes", "rest_comes"), [(5, True), (1, True), (1, False), (2, False)])
async def test_a_handshake(start, first_bytes: int, rest_comes: bool) -> None:
    running = await start(limits=_QUICK)
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    target = f"127.0.0.1:{running.upstream.port}"
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    handshake = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with pytest.raises(ssl.SSLWantReadError):
        handshake.do_handshake()
    hello = outgoing.read()
    pieces = iter([hello[:first_bytes], *bytewise(hello[first_bytes:] if rest_comes else b"")])
    assert await trickle(reader, writer, pieces) < 3 * _SECONDS


async def test_over_http2(start) -> None:
    running = await start(limits=_QUICK)
    reader, writer = await running.tunnel(alpn=["h2"])
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    writer.write(client.data_to_send())
    await reader.read(65536)
    await asyncio.sleep(2 * _SECONDS)  # idle
    authority = f"127.0.0.1:{running.upstream.port}"
    fields = [(":method", "GET"), (":scheme", "https"), (":path", "/" + "a" * 400), (":authority", authority)]
    client.send_headers(1, fields, end_stream=True)
    head = client.data_to_send()
    began = asyncio.get_running_loop().time()
    ended = asyncio.ensure_future(reader.read())
    async with asyncio.timeout(10):
        for piece in bytewise(head):
            if ended.done():
                break
            writer.write(piece)
            await asyncio.wait({ended}, timeout=_SECONDS / 6)
        with suppress(ConnectionResetError):  # closed while a byte was on its way
            await ended
    assert asyncio.get_running_loop().time() - began < 3 * _SECONDS
    writer.close()
    await running.settled()
    assert running.upstream.heads == []


async def test_a_slow_upload_is_no_slow_head(start, answer) -> None:
    running = await start(limits=_QUICK)
    reader, writer = await running.tunnel()
    writer.write(running.get(method="POST", headers="Content-Length: 8\r\n"))
    for _ in range(8):
        await asyncio.sleep(_SECONDS / 3)
        writer.write(b"x")
    assert answer(await reader.readuntil(b"\r\n\r\n")).status == 200
    writer.close()
