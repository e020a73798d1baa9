"""Attacks with connections: slots, handshakes, names, held calls, answers that nobody reads."""

import asyncio
import itertools
import json
import ssl

from benchmarks.attacks.target import Target, keep, many


async def idle_tunnels(target: Target) -> None:
    """One key, as many tunnels as it gets."""

    async def once() -> None:
        await keep(target, await target.tunnel())

    await many(target, 1500, once)


async def idle_connections_without_a_key(target: Target) -> None:
    async def once() -> None:
        await keep(target, await target.connect())

    await many(target, 3000, once)


async def handshakes_without_a_key(target: Target) -> None:
    """TLS to the proxy itself, again and again."""
    context = ssl.create_default_context(cafile=target.ca_file)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE

    async def once() -> None:
        _, writer = await target.connect()
        try:
            await writer.start_tls(context, server_hostname="proxy.test")
        finally:
            writer.transport.abort()

    await many(target, 32, once)


async def a_name_for_each_tunnel(target: Target) -> None:
    """Each tunnel's handshake asks for a certificate of its own."""
    numbers = itertools.count()

    async def once() -> None:
        _, writer = await target.tunnel(name=f"n{next(numbers)}.fairness.test", port=443)
        writer.transport.abort()

    await many(target, 32, once)


async def names_that_do_not_resolve(target: Target) -> None:
    numbers = itertools.count()

    async def once() -> None:
        name = f"n{next(numbers)}.fairness.test"
        reader, writer = await target.tunnel(name=name, port=443)
        writer.write(f"GET / HTTP/1.1\r\nhost: {name}\r\n\r\n".encode())
        try:
            await reader.read(4096)
        finally:
            writer.transport.abort()

    await many(target, 64, once)


async def allowed_requests(target: Target) -> None:
    """As fast as they are answered, over 64 connections."""
    request = target.head("GET", "/bytes/1024")

    async def once() -> None:
        reader, writer = await target.tunnel()
        try:
            while True:
                writer.write(request)
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                at = head.index(b"content-length:")
                await reader.readexactly(int(head[at + 15 : head.index(b"\r\n", at)]))
        finally:
            writer.transport.abort()

    await many(target, 64, once)


async def held_calls(target: Target) -> None:
    """Each waits for a person."""
    numbers = itertools.count()

    async def once() -> None:
        pair = await target.tunnel()
        body = json.dumps({"n": next(numbers)}).encode()
        fields = ("content-type: application/json", f"content-length: {len(body)}")
        pair[1].write(target.head("POST", "/bytes/7", *fields) + body)
        await keep(target, pair)

    await many(target, 400, once)


async def downloads_that_nobody_reads(target: Target) -> None:
    """100 answers of 20 MB, read at a kilobyte a second."""

    async def once() -> None:
        reader, writer = await target.tunnel()
        writer.write(target.head("GET", "/bytes/20000000"))
        try:
            while not target.is_over and await reader.read(1024):  # noqa: ASYNC110 - as slowly as it says
                await asyncio.sleep(1)
        finally:
            writer.transport.abort()

    await many(target, 100, once)


async def large_downloads(target: Target) -> None:
    """Eight at once, as fast as they come."""

    async def once() -> None:
        reader, writer = await target.tunnel()
        writer.write(target.head("GET", "/bytes/50000000", "connection: close"))
        try:
            while await reader.read(1 << 20):
                pass
        finally:
            writer.transport.abort()

    await many(target, 8, once)
