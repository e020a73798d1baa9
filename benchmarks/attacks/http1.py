"""Attacks with HTTP/1: refusals, heads, bodies."""

import asyncio
from typing import Final

from benchmarks.attacks.target import Target, flood, keep, many

_MEGABYTE: Final = 1 << 20
_CONNECTIONS: Final = 8


async def refusals_without_a_key(target: Target) -> None:
    """A megabyte of requests that are refused synchronously, pipelined; then again."""
    request = b"GET / HTTP/1.1\r\nHost: x:y:z\r\n\r\n"
    await many(target, _CONNECTIONS, lambda: _flood_once(target, request * (_MEGABYTE // len(request))))


async def certificates_without_a_key(target: Target) -> None:
    """The certificate is served to everybody: pipelined requests for it are answered synchronously."""
    request = f"GET /ca.pem HTTP/1.1\r\nHost: 127.0.0.1:{target.proxy_port}\r\n\r\n".encode()
    await many(target, _CONNECTIONS, lambda: _flood_once(target, request * (_MEGABYTE // len(request))))


async def refusals_of_an_agent(target: Target) -> None:
    """The same inside of a tunnel: paths that servers read differently."""
    request = target.head("GET", "/a/../b")

    async def once() -> None:
        await flood(await target.tunnel(), request * (_MEGABYTE // 4 // len(request)))

    await many(target, _CONNECTIONS, once)


async def a_connection_for_each_refusal(target: Target) -> None:
    async def once() -> None:
        reader, writer = await target.connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: x:y:z\r\n\r\n")
        try:
            await reader.read(4096)
        finally:
            writer.transport.abort()

    await many(target, 64, once)


async def large_heads_without_a_key(target: Target) -> None:
    """As many header fields as fit into a head."""
    head = b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"a:\r\n" * 15_900 + b"\r\n"
    await many(target, 32, lambda: _flood_once(target, head))


async def large_heads_of_an_agent(target: Target) -> None:
    head = target.head("GET", "/bytes/1", *("a:" for _ in range(15_900)))

    async def once() -> None:
        await flood(await target.tunnel(), head)

    await many(target, _CONNECTIONS, once)


async def slow_heads(target: Target) -> None:
    """Heads that never end, a byte every second, from 1,500 connections."""

    async def once() -> None:
        reader, writer = await target.connect()
        dropping = asyncio.ensure_future(keep(target, (reader, writer)))
        writer.write(b"GET / HTTP/1.1\r\n")
        while not dropping.done():
            writer.write(b"a")
            await asyncio.sleep(1)

    await many(target, 1500, once)


async def slow_bodies(target: Target) -> None:
    """Uploads that announce a megabyte and send a byte every second, 200 at once."""
    head = target.head("POST", "/bytes/1", "content-type: application/json", f"content-length: {_MEGABYTE}")

    async def once() -> None:
        pair = await target.tunnel()
        dropping = asyncio.ensure_future(keep(target, pair))
        pair[1].write(head)
        while not dropping.done():
            pair[1].write(b" ")
            await asyncio.sleep(1)

    await many(target, 200, once)


async def tiny_chunks(target: Target) -> None:
    """Bodies in chunks of one byte."""
    head = target.head("POST", "/bytes/1", "content-type: text/plain", "transfer-encoding: chunked")

    async def once() -> None:
        pair = await target.tunnel()
        pair[1].write(head)
        await flood(pair, b"1\r\nx\r\n" * 40_000)

    await many(target, _CONNECTIONS, once)


async def large_bodies(target: Target) -> None:
    """Uploads as large as they may be, that are never finished."""
    head = target.head("POST", "/bytes/1", "content-type: text/plain", "content-length: 10000000")

    async def once() -> None:
        pair = await target.tunnel()
        pair[1].write(head + bytes(9_000_000))
        await keep(target, pair)

    await many(target, 100, once)


async def _flood_once(target: Target, data: bytes) -> None:
    await flood(await target.connect(), data)
