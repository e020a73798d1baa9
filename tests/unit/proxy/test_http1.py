"""Bodies whose chunks cannot be read are answered, once."""

import pytest
from mitmproxy import options
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.http import Headers, Response
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
)

from addons.limits import RequestLimits
from addons.verdict import ClientState, open_client
from proxy.chunks import CHUNKS_AT_ONCE
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
    assert len(sent(go_on(server, made))) == 1


def go_on(server: GateHttp1Server, made: list[commands.Command]) -> list[commands.Command]:
    """In the next turn."""
    [asked] = [one for one in made if isinstance(one, commands.RequestWakeup)]
    assert asked.delay == 0
    return list(server.handle_event(events.Wakeup(asked)))


def test_chunks_that_come_together_are_one_piece(server) -> None:
    made = receive(server, _HEAD + b"1\r\nx\r\n" * 100 + b"0\r\n\r\n")
    told = [one.event for one in made if isinstance(one, ReceiveHttp)]
    assert [type(one) for one in told] == [RequestHeaders, RequestData, RequestEndOfMessage]
    assert told[1].data == b"x" * 100


def test_many_chunks_are_read_in_turns(server) -> None:
    made = receive(server, _HEAD + b"1\r\nx\r\n" * (CHUNKS_AT_ONCE * 2) + b"0\r\n\r\n")
    data = b""
    for _ in range(3):
        data += b"".join(one.event.data for one in made if isinstance(getattr(one, "event", None), RequestData))
        if any(isinstance(getattr(one, "event", None), RequestEndOfMessage) for one in made):
            break
        made = go_on(server, made)
    assert data == b"x" * (CHUNKS_AT_ONCE * 2)


def test_chunks_before_one_that_cannot_be_read_do_not_hide_it(server) -> None:
    made = receive(server, _HEAD + b"1\r\nx\r\n" + _UNREADABLE)
    [answer] = sent(made)
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_a_pipelined_request_waits_for_its_turn(server) -> None:
    head = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
    receive(server, head * 2)
    list(server.handle_event(ResponseHeaders(1, Response.make(200, b"", {"content-length": "0"}), True)))
    made = list(server.handle_event(ResponseEndOfMessage(1)))
    assert not any(isinstance(one, ReceiveHttp) for one in made)
    assert any(isinstance(one, ReceiveHttp) for one in go_on(server, made))


def test_a_head_of_too_many_lines_is_not_parsed(server) -> None:
    made = receive(server, b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 15_000 + b"\r\n")
    [answer] = sent(made)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert isinstance(made[-1], commands.CloseConnection)
    assert not any(isinstance(one, ReceiveHttp) for one in made)
    assert sum(isinstance(one, commands.CloseConnection) for one in made) == 1


@pytest.mark.parametrize(
    ("version", "wanted", "closes"), [("1.1", b"2\r\nhi\r\n0\r\n\r\n", False), ("1.0", b"hi", True)]
)
def test_an_answer_in_chunks_is_read_by_clients_of_either_version(server, version, wanted, closes) -> None:
    """RFC 9112, section 6.1: none go to a client of HTTP/1.0, which reads to the end of the connection."""
    receive(server, f"GET / HTTP/{version}\r\nHost: a.example\r\nConnection: keep-alive\r\n\r\n".encode())
    fields = Headers([(b"Transfer-Encoding", b"Chunked"), (b"a", b"b")])
    answer = Response(b"HTTP/1.1", 200, b"OK", fields, None, None, 0, None)
    told = [ResponseHeaders(1, answer, False), ResponseData(1, b"hi"), ResponseEndOfMessage(1)]
    made = [command for event in told for command in server.handle_event(event)]
    head, *body = sent(made)
    assert b"a: b" in head
    assert (b"transfer-encoding" in head.lower()) is not closes
    assert b"".join(body) == wanted
    assert any(isinstance(one, commands.CloseConnection) for one in made) is closes
    assert "transfer-encoding" in answer.headers
