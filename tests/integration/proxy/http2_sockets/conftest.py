"""A gate whose decisions about the messages of WebSockets a test makes, and the server behind it."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import serve

from addons.refuse import refuse_with
from addons.verdict import flow_state
from headgate.gate.refusals import ActionDeniedError
from tests.integration.proxy.decided_messages import Messages
from tests.integration.proxy.http2_sockets.socket_server import SocketServer


@pytest.fixture
async def server(upstream_tls: tuple[ssl.SSLContext, Path]) -> AsyncIterator[SocketServer]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(upstream_tls[1].parent / "leaf.pem")
    started = SocketServer()
    async with serve(
        started.talk, "127.0.0.1", 0, ssl=context, process_request=started.plainly, max_size=None
    ) as listening:
        started.port = listening.sockets[0].getsockname()[1]
        yield started


class Denies:
    def request(self, flow: Any) -> None:
        if flow.request.path == "/denied":
            refuse_with(flow, ActionDeniedError("no sockets", details={"action_id": "act_1"}))


@pytest.fixture
async def running(start: Any) -> Any:
    """``decide.messages`` are the decisions about every WebSocket's messages."""
    running = await start(before=(Denies(),))
    running.decide.messages = Messages()

    async def before(flow: Any) -> None:
        flow_state(flow).socket = running.decide.messages

    running.decide.before = before
    return running
