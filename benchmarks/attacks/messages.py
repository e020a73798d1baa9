"""Attacks with messages in a call: of a WebSocket, of gRPC, and content that takes long to inspect."""

import asyncio
import contextlib
import itertools
import random
import string
import struct
from typing import Final

import h2.config
import h2.connection
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks.attacks.target import ADDRESS, Target, keep, many

_SOCKETS: Final = 32
_MESSAGES_AT_ONCE: Final = 64
_DEFLATED_BYTES: Final = 1_000_000
_GRPC_MESSAGES: Final = 1000


async def small_messages_of_websockets(target: Target) -> None:
    """As fast as they are taken; the answers are dropped."""
    await _sockets(target, "x" * 16, compression=None)


async def deflated_messages_of_websockets(target: Target) -> None:
    """1 KB on the wire, 1 MB decoded, the most that a message may have."""
    await _sockets(target, "x" * _DEFLATED_BYTES, compression="deflate")


async def messages_of_grpc(target: Target) -> None:
    """Calls of the most messages that are read, each of twenty fields."""
    message = b"".join(struct.pack(">BB", number << 3, 1) for number in range(1, 16)) + b"\x0a\x01x" * 5
    body = struct.pack(">BI", 0, len(message)) + message
    content = body * _GRPC_MESSAGES

    async def once() -> None:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding=None))
        connection.initiate_connection()
        head = [(b":method", b"POST"), (b":scheme", b"https"), (b":path", b"/bytes/1")]
        head += [
            (b":authority", target.authority.encode()),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        ]
        connection.send_headers(1, head)
        rest = content
        while rest and (window := min(connection.local_flow_control_window(1), 16_384)):
            connection.send_data(1, rest[:window], end_stream=len(rest) <= window)
            rest = rest[window:]
        pair = await target.tunnel(http2=True)
        pair[1].write(connection.data_to_send())
        await keep(target, pair)

    await many(target, _SOCKETS, once)


async def inspected_bodies(target: Target) -> None:
    """Bodies of 90 KB that the detectors of the attacker's organization look through, each another (only PUT: the other
    attacks go without)."""
    rng = random.Random(5)  # noqa: S311 - repeatable, not secret
    numbers = itertools.count()
    texts = ["".join(rng.choices(string.ascii_letters + string.digits + "+/= ", k=90_000)) for _ in range(8)]

    async def once() -> None:
        number = next(numbers)
        body = f"{number} {texts[number % len(texts)]}".encode()
        pair = await target.tunnel()
        fields = ("content-type: text/plain", f"content-length: {len(body)}", "connection: close")
        pair[1].write(target.head("PUT", "/bytes/1", *fields) + body)
        await keep(target, pair)

    await many(target, _SOCKETS, once)


async def _sockets(target: Target, message: str, *, compression: str | None) -> None:
    async def once() -> None:
        with contextlib.suppress(WebSocketException):
            async with connect(
                f"wss://127.0.0.1:{target.socket_port}/",
                ssl=target.trust,
                compression=compression,
                proxy=f"http://agent:{target.key}@127.0.0.1:{target.proxy_port}",
                local_addr=(ADDRESS, 0),
                close_timeout=1,
            ) as socket:
                dropping = asyncio.ensure_future(_drop(socket))
                try:
                    while not target.is_over and not dropping.done():
                        for _ in range(_MESSAGES_AT_ONCE):
                            await socket.send(message)
                        await asyncio.sleep(0)  # sending does not wait: the end of the socket would not be seen
                finally:
                    dropping.cancel()

    await many(target, _SOCKETS, once)


async def _drop(socket: ClientConnection) -> None:
    async for _ in socket:
        pass
