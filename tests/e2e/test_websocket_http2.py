"""A WebSocket over HTTP/2 through the running instance: decided, recorded and refused as one over HTTP/1.1."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from wsproto.events import CloseConnection, TextMessage

from tests.e2e.clients import Administrator, Agent
from tests.e2e.socket_server import SocketServer, serving
from tests.http2_client import Http2Client, Wire

RULES = """package e2e.http2_sockets

mine if input.tool == "websocket"

allow if mine

deny contains "never this" if {
	mine
	contains(json.marshal(input.params), "forbidden")
}
"""


@pytest.fixture(scope="module")
def server(certificates: tuple[Path, Path]) -> Iterator[SocketServer]:
    with serving(certificates[1]) as started:
        yield started


def over_http2(agent: Agent, authority: str) -> Http2Client:
    proxy = urlsplit(agent.proxy_url)

    async def tunnel() -> Wire:
        reader, writer = await asyncio.open_connection(proxy.hostname, proxy.port)
        credentials = b64encode(f"agent:{agent.key}".encode()).decode()
        head = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\nProxy-Authorization: Basic {credentials}\r\n\r\n"
        writer.write(head.encode())
        assert b" 200 " in (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
        agent.trust.set_alpn_protocols(["h2"])
        await writer.start_tls(agent.trust, server_hostname=authority.partition(":")[0])
        return reader, writer

    return Http2Client(tunnel, authority)


def test_handshake_and_messages_are_on_record(
    administrator: Administrator, agent: Agent, server: SocketServer, path: str
) -> None:
    authority = urlsplit(server.url).netloc

    async def talk() -> CloseConnection:
        async with over_http2(agent, authority) as client:
            other = await client.connect(path + "/other").opened()
            stream = await client.connect(path).opened()
            stream.send(TextMessage("hello " + path))
            await stream.until(lambda one: one.messages)
            assert stream.messages == ["hello " + path]
            stream.send(TextMessage("forbidden " + path))
            await stream.done()
            other.send(TextMessage("still open " + path))
            await other.until(lambda one: one.messages)
            refused = await client.connect(path + "/forbidden").done()
            assert refused.status == 403
            [close] = [event for event in stream.events if isinstance(event, CloseConnection)]
            return close

    with administrator.policy(RULES, priority=1):
        close = asyncio.run(talk())
    assert [one for one in server.received if path in str(one)] == ["hello " + path, "still open " + path]
    actions = [one for one in administrator.actions_of(path) if one["request"]["params"]["path"] == path]
    assert [one["operation"] for one in actions] == ["connect", "send", "send"]
    assert [administrator.settled(one["id"])["status"] for one in actions[:2]] == ["completed", "completed"]
    assert actions[2]["status"] == "denied"
    assert (close.code, close.reason) == (1008, f"Denied by policy {actions[2]['id']}")
