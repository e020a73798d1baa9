"""A connection of HTTP/2 through the gate, and what its streams have come to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from wsproto.events import CloseConnection, TextMessage

from tests.http2_client import Http2Client, Stream


@asynccontextmanager
async def connected(running: Any, port: int, *, window: int | None = None) -> AsyncIterator[Http2Client]:
    tunnel = partial(running.tunnel, alpn=["h2"], port=port)
    async with Http2Client(tunnel, f"127.0.0.1:{port}", window=window) as client:
        yield client
    await running.settled()


def code(stream: Stream) -> int:
    [close] = [event for event in stream.events if isinstance(event, CloseConnection)]
    return close.code


async def is_live(client: Http2Client) -> bool:
    """Whether the connection still answers, and opens WebSockets."""
    answered = await client.get("/").done()
    echoes = await client.connect().opened()
    echoes.send(TextMessage("still here"))
    await echoes.until(lambda one: one.messages)
    return (answered.status, echoes.messages) == (200, ["still here"])
