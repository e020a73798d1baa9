"""A platform that speaks WebSocket and tells back what it was shown, and clients of it through the gate."""

import asyncio
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from wsproto.events import BytesMessage, CloseConnection, TextMessage

from tests.http2_client import Http2Client, Stream
from tests.integration.proxy.connections.conftest import Keeper

_SECONDS = 5


@dataclass
class SocketPlatform:
    """Answers each message with the message, whose certificate it was shown, and the Authorization of the handshake;
    ``close`` with a close that gives them as its reason. ``handshakes``, ``shown`` and ``protocols``: of each
    WebSocket the head, the name in the certificate, and what TLS agreed on (ALPN)."""

    port: int = 0
    handshakes: list[Request] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    protocols: list[str | None] = field(default_factory=list)
    received: list[str | bytes] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    """The names of those who asked for something else than a WebSocket."""

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        credential = request.headers.get("authorization", "nothing")
        if "upgrade" not in request.headers:
            self.plain.append(_name(connection))
            return connection.respond(HTTPStatus.OK, self.plain[-1])
        self.handshakes.append(request)
        if request.path == "/refused":
            return connection.respond(HTTPStatus.UNAUTHORIZED, f"not with {credential}")
        return None

    def repeat(self, connection: ServerConnection, request: Request, response: Response) -> None:
        response.headers["x-echo"] = request.headers.get("authorization", "nothing")

    async def talk(self, connection: ServerConnection) -> None:
        self.shown.append(_name(connection))
        self.protocols.append(connection.transport.get_extra_info("ssl_object").selected_alpn_protocol())
        assert connection.request is not None
        told = f"{self.shown[-1]} {connection.request.headers.get('authorization', 'nothing')}"
        try:
            async for message in connection:
                self.received.append(message)
                if message == "close":
                    await connection.close(4000, told)
                await connection.send(f"{message!r} {told}")
        except ConnectionClosed:
            pass


def _name(connection: ServerConnection) -> str:
    shown = connection.transport.get_extra_info("ssl_object").getpeercert() or {}
    return "".join(value for pairs in shown.get("subject", ()) for _, value in pairs) or "nobody"


@asynccontextmanager
async def serving(context: ssl.SSLContext) -> AsyncIterator[SocketPlatform]:
    platform = SocketPlatform()
    async with serve(
        platform.talk,
        "127.0.0.1",
        0,
        ssl=context,
        process_request=platform.answer,
        process_response=platform.repeat,
        max_size=None,
    ) as listening:
        platform.port = listening.sockets[0].getsockname()[1]
        yield platform


def server_context(upstream_tls: tuple[ssl.SSLContext, Path], **options: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, **options)
    context.load_cert_chain(upstream_tls[1].parent / "leaf.pem")
    return context


class OpenSocket(ABC):
    """As its client holds it. ``head``: all header fields of the answer to its handshake, as text."""

    head: str

    @abstractmethod
    async def send(self, message: str | bytes) -> None: ...

    @abstractmethod
    async def receive(self) -> str: ...

    @abstractmethod
    async def closed(self) -> tuple[int, str]:
        """Waits for the end; code and reason."""


class OverHttp1(OpenSocket):
    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        assert connection.response is not None
        self.head = str(connection.response.headers)

    async def send(self, message: str | bytes) -> None:
        await self._connection.send(message)

    async def receive(self) -> str:
        async with asyncio.timeout(_SECONDS):
            return str(await self._connection.recv())

    async def closed(self) -> tuple[int, str]:
        async with asyncio.timeout(_SECONDS):
            await self._connection.wait_closed()
        assert self._connection.close_code is not None
        return self._connection.close_code, self._connection.close_reason or ""


class OverHttp2(OpenSocket):
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._taken = 0
        self.head = repr(stream.head)

    async def send(self, message: str | bytes) -> None:
        self._stream.send(TextMessage(message) if isinstance(message, str) else BytesMessage(message))

    async def receive(self) -> str:
        await self._stream.until(lambda one: len(one.messages) > self._taken, seconds=_SECONDS)
        self._taken += 1
        return str(self._stream.messages[self._taken - 1])

    async def closed(self) -> tuple[int, str]:
        await self._stream.until(lambda one: one.has_ended or one.reset_code is not None, seconds=_SECONDS)
        [close] = [one for one in self._stream.events if isinstance(one, CloseConnection)]
        return close.code, close.reason or ""


def http2_client(keeper: Keeper, port: int) -> Http2Client:
    return Http2Client(partial(keeper.tunnel, port=port, alpn=["h2"]), f"127.0.0.1:{port}")


@asynccontextmanager
async def over_http1(keeper: Keeper, port: int, *fields: tuple[str, str]) -> AsyncIterator[OpenSocket]:
    proxy = f"http://agent:{keeper.key.reveal()}@127.0.0.1:{keeper.running.port}"
    async with connect(
        f"wss://127.0.0.1:{port}/socket", ssl=keeper.running.trust, proxy=proxy, additional_headers=fields
    ) as connection:
        yield OverHttp1(connection)


@asynccontextmanager
async def over_http2(keeper: Keeper, port: int, *fields: tuple[str, str]) -> AsyncIterator[OpenSocket]:
    async with http2_client(keeper, port) as client:
        yield OverHttp2(await client.connect("/socket", [(n.encode(), v.encode()) for n, v in fields]).opened())


type Opens = Callable[..., AbstractAsyncContextManager[OpenSocket]]
both_versions = pytest.mark.parametrize("opens", [over_http1, over_http2], ids=["HTTP/1.1", "HTTP/2"])
