"""What an attack knows of the instance that it attacks, and how it connects."""

import asyncio
import base64
import contextlib
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

type Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]

ADDRESS: Final = "127.0.0.2"
"""Attackers come from an address of their own: what an address may do is no matter of the victims."""


@dataclass(frozen=True)
class Target:
    """``until``: of ``time.monotonic``; an attack ends by itself then."""

    proxy_port: int
    api_port: int
    key: str
    """Of an agent; attacks without a key leave it alone."""
    ca_file: str
    upstream_port: int
    socket_port: int
    """Of a server of WebSockets."""
    until: float

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.upstream_port}"

    def head(self, method: str, path: str, *fields: str) -> bytes:
        """Of a request inside a tunnel to the upstream."""
        return "\r\n".join((f"{method} {path} HTTP/1.1", f"host: {self.authority}", *fields, "", "")).encode()

    @cached_property
    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca_file)

    @cached_property
    def trust_http2(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca_file)
        context.set_alpn_protocols(["h2"])
        return context

    async def connect(self) -> Pair:
        return await asyncio.open_connection("127.0.0.1", self.proxy_port, local_addr=(ADDRESS, 0))

    async def tunnel(self, *, http2: bool = False, name: str = "127.0.0.1", port: int | None = None) -> Pair:
        """CONNECT with the agent's key, and TLS. Raises ConnectionError where the gate refuses."""
        reader, writer = await self.connect()
        try:
            await self.open_tunnel(reader, writer, f"{name}:{port or self.upstream_port}")
            await writer.start_tls(self.trust_http2 if http2 else self.trust, server_hostname=name)
        except BaseException:
            writer.transport.abort()
            raise
        return reader, writer

    async def open_tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authority: str) -> None:
        shown = base64.b64encode(f"agent:{self.key}".encode()).decode()
        writer.write(
            f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\nProxy-Authorization: Basic {shown}\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head[:16]:
            raise ConnectionError(head.decode(errors="replace"))


async def many(target: Target, count: int, attack: Callable[[], Awaitable[None]]) -> None:
    """``count`` at once, each again and again until the end."""

    async def again() -> None:
        while not target.is_over:
            try:
                async with asyncio.timeout(max(0.1, target.until - time.monotonic())):
                    await attack()
            except (OSError, EOFError, TimeoutError, ssl.SSLError):
                await asyncio.sleep(0.02)

    await asyncio.gather(*(again() for _ in range(count)))


async def flood(pair: Pair, data: bytes) -> None:
    """Writes ``data`` until the gate ends the connection; what it answers is dropped."""
    reader, writer = pair

    async def drop() -> None:
        while await reader.read(1 << 20):
            pass

    dropping = asyncio.ensure_future(drop())
    try:
        while not dropping.done():
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0)
    finally:
        dropping.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await dropping
        writer.transport.abort()


async def keep(target: Target, pair: Pair) -> None:
    """Holds a connection until the end, or until the gate closes it."""
    reader, writer = pair
    try:
        with contextlib.suppress(ConnectionError):
            while not target.is_over and await reader.read(1 << 16):
                pass
    finally:
        writer.transport.abort()
