"""A forward proxy on loopback, as companies have one: CONNECT, Basic credentials, TLS to itself if wanted.

Every tunnel leads to ``reach``, whatever was asked for, so that tests ask for names and addresses of the internet.
"""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class ForwardProxy:
    """``answer`` replaces every tunnel, ``refused`` that of one authority; b"": the proxy never answers."""

    reach: tuple[str, int] | None = None
    credentials: str | None = None
    answer: bytes | None = None
    refused: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)
    port: int = 0
    serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        try:
            await self._serve(reader, writer)
        finally:
            self.serving.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            authority = head.split(b" ")[1].decode()
            self.asked.append(authority)
            answer = self._answer(head, authority)
            if answer == b"":
                await reader.read()
            elif answer is not None:
                writer.write(answer)
                await writer.drain()
            else:
                await self._tunnel(reader, writer)
            writer.close()
            await writer.wait_closed()

    def _answer(self, head: bytes, authority: str) -> bytes | None:
        if not head.startswith(b"CONNECT "):
            return b"HTTP/1.1 405 Method Not Allowed\r\n\r\n"
        if self.credentials is not None:
            wanted = b"Proxy-Authorization: Basic " + b64encode(self.credentials.encode())
            if wanted not in head.split(b"\r\n"):
                return b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="corp"\r\n\r\n'
        return self.refused.get(authority, self.answer)

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self.reach is not None
        there_reader, there_writer = await asyncio.open_connection(*self.reach)
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 corp\r\n\r\n")
            async with asyncio.TaskGroup() as copies:
                copies.create_task(_copy(reader, there_writer))
                copies.create_task(_copy(there_reader, writer))
        finally:
            there_writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def forward_proxy(tls: ssl.SSLContext | None = None) -> AsyncIterator[ForwardProxy]:
    proxy = ForwardProxy()
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, ssl=tls)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in list(proxy.serving):
            task.cancel()
        await asyncio.gather(*proxy.serving, return_exceptions=True)
        await asyncio.sleep(0)
