"""Servers of WebSockets over HTTP/1.1: one answers what it is sent, the other as a test says."""

import asyncio
import base64
import hashlib
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

_ACCEPTED_BY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3


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


@asynccontextmanager
async def handshaking(upstream_tls: Any, handshakes: Handshakes) -> AsyncIterator[int]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_tls[1].parent / "leaf.pem")
    listening = await asyncio.start_server(handshakes.talk, "127.0.0.1", 0, ssl=context)
    yield listening.sockets[0].getsockname()[1]
    listening.close()
