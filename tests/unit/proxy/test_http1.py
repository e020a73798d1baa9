"""Bodies whose chunks cannot be read are answered, once."""

import pytest
from mitmproxy import options
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.http import Response
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import ResponseEndOfMessage, ResponseHeaders

from addons.limits import RequestLimits
from addons.verdict import ClientState, open_client
from proxy.http1 import GateHttp1Server

_HEAD = b"POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n"
_UNREADABLE = b"no number\r\n"


@pytest.fixture
def server() -> GateHttp1Server:
    client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), state=ConnectionState.OPEN)
    open_client(ClientState(client, lambda reason: None))
    made = GateHttp1Server(Context(client, options.Options()), RequestLimits())
    list(made.handle_event(events.Start()))
    return made


def receive(server: GateHttp1Server, data: bytes) -> list[commands.Command]:
    return list(server.handle_event(events.DataReceived(server.conn, data)))


def sent(made: list[commands.Command]) -> list[bytes]:
    return [one.data for one in made if isinstance(one, commands.SendData)]


def test_chunks_that_cannot_be_read(server) -> None:
    made = receive(server, _HEAD + _UNREADABLE)
    [answer] = sent(made)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"REQUEST_AMBIGUOUS" in answer
    kinds = [type(one) for one in made]
    assert kinds.index(commands.CloseConnection) == len(kinds) - 2
    assert isinstance(made[-1], ReceiveHttp)


def test_a_body_that_ends_with_the_connection_is_not_answered(server) -> None:
    receive(server, _HEAD + b"5\r\nhel")
    made = list(server.handle_event(events.ConnectionClosed(server.conn)))
    assert sent(made) == []


def test_of_two_requests_that_came_together_the_second_is_answered_once(server) -> None:
    """Its body is read while that of the first, which was answered already, is being finished."""
    receive(server, _HEAD)
    early = Response.make(200, b"", {"content-length": "0"})
    list(server.handle_event(ResponseHeaders(1, early, False)))
    list(server.handle_event(ResponseEndOfMessage(1)))
    made = receive(server, b"0\r\n\r\n" + _HEAD + _UNREADABLE)
    assert len(sent(made)) == 1
    assert sum(isinstance(one, commands.CloseConnection) for one in made) == 1
