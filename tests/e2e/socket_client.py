"""A WebSocket client for tests that wait. Every wait has an end.

One thread does all of its TLS. ``websockets.sync`` reads in one thread and writes in another, on one ``SSLSocket``;
OpenSSL allows one thread at a time in a connection (openssl-threads(7)), and Python 3.12 does not see to that. A
handshake that is written while the other thread reads the session tickets of TLS 1.3 (RFC 8446, 4.6.1) is lost now
and then: it never leaves the client. Its ``open_timeout`` does not end that wait, because closing a socket does not
wake the thread that reads from it.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.loop_in_thread import loop_in_thread

_SECONDS = 60
_OPEN_SECONDS = 30


class SocketClient:
    """An open connection. Raises what ``websockets`` raises, and TimeoutError."""

    def __init__(self, connection: ClientConnection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._loop = loop

    def send(self, message: str | bytes | Iterable[str | bytes]) -> None:
        """Several pieces are one message in fragments."""
        _done(self._connection.send(message), self._loop, _SECONDS)

    def recv(self, *, timeout: float) -> str | bytes:
        """The next message. After a TimeoutError it can still be received."""
        return _done(self._connection.recv(), self._loop, timeout)

    def ping(self, payload: str) -> None:
        """Returns once the pong is there."""

        async def ping() -> None:
            await (await self._connection.ping(payload))

        _done(ping(), self._loop, _SECONDS)

    def close(self, code: int = 1000, reason: str = "") -> None:
        _done(self._connection.close(code, reason), self._loop, _SECONDS)


@contextmanager
def opened(url: str, *, open_timeout: float = _OPEN_SECONDS, **options: Any) -> Iterator[SocketClient]:
    """``options`` are those of ``websockets.asyncio.client.connect``."""

    async def handshake() -> ClientConnection:
        return await connect(url, open_timeout=None, max_size=None, **options)

    with loop_in_thread("socket-client") as loop:
        client = SocketClient(_done(handshake(), loop, open_timeout), loop)
        try:
            yield client
        finally:
            client.close()


def _done[Answer](work: Coroutine[Any, Any, Answer], loop: asyncio.AbstractEventLoop, seconds: float) -> Answer:
    async def within() -> Answer:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run_coroutine_threadsafe(within(), loop).result()
