"""A WebSocket server on loopback, over TLS: it answers what it was sent, and keeps it."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.loop_in_thread import loop_in_thread


@dataclass
class SocketServer:
    """``closes``: code and reason with which each connection ended, as the server saw it."""

    url: str = ""
    received: list[str | bytes] = field(default_factory=list)
    closes: list[tuple[int, str]] = field(default_factory=list)
    answers: dict[str, str | bytes] = field(default_factory=dict)
    """What is answered in place of the message itself."""

    async def talk(self, connection: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            async for message in connection:
                self.received.append(message)
                answer = self.answers.get(message, message) if isinstance(message, str) else message
                await connection.send(answer)
        frame = connection.protocol.close_rcvd
        if frame is not None:
            self.closes.append((frame.code, frame.reason))


@contextmanager
def serving(certificate: Path, *, session_tickets: int = 2) -> Iterator[SocketServer]:
    """``session_tickets``: how many it sends after each handshake of TLS (RFC 8446, 4.6.1)."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    tls.num_tickets = session_tickets
    started = SocketServer()

    async def start() -> Server:
        return await serve(started.talk, "127.0.0.1", 0, ssl=tls, max_size=None)

    async def stop(server: Server) -> None:
        server.close()
        await server.wait_closed()

    with loop_in_thread("socket-server") as loop:
        server = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
        started.url = f"wss://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield started
        finally:
            asyncio.run_coroutine_threadsafe(stop(server), loop).result(30)
