"""The answer of a call that was kept waiting becomes the last events of its stream, whatever it is."""

import gzip
import json
from typing import Any

import pytest
from mitmproxy.http import Headers, Request, Response
from mitmproxy.proxy.layers.http._base import HttpEvent
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
    ResponseTrailers,
)

from headgate.protocols.mcp_exchange import McpExchange
from proxy.kept_alive import KeptAlive, may_wait

_MESSAGE = b'{"jsonrpc": "2.0",\r\n "id": 3,\n "result": "a\\nb"}'


def _kept(token: str | None = None) -> KeptAlive:
    return KeptAlive(1, McpExchange(3, progress_token=token, has_outcome=True), is_http2=False)


def _text(events: list[HttpEvent]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, ResponseData))


def _answer(kept: KeptAlive, body: bytes, *, status: int = 200, size: int = 5, **fields: str) -> bytes:
    response = Response.make(status)
    response.headers = Headers([(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()])
    sent = kept.events(ResponseHeaders(1, response, end_stream=not body))
    for at in range(0, len(body), size):
        sent += kept.events(ResponseData(1, body[at : at + size]))
    sent += kept.events(ResponseTrailers(1, response.headers))
    sent += kept.events(ResponseEndOfMessage(1))
    assert isinstance(sent[-1], ResponseEndOfMessage)
    assert not any(isinstance(event, ResponseHeaders | ResponseTrailers) for event in sent)
    return _text(sent)


def _messages(events: bytes) -> list[Any]:
    assert not events or events.endswith(b"\n\n")
    return [json.loads(line[6:]) for line in events.split(b"\n") if line.startswith(b"data: ")]


@pytest.mark.parametrize("is_http2", [True, False])
def test_the_head_of_a_stream(is_http2: bool) -> None:
    kept = KeptAlive(1, McpExchange(3, progress_token="t"), is_http2=is_http2)
    head, first = kept.begin()
    assert isinstance(head, ResponseHeaders)
    assert (head.response.status_code, head.response.headers["content-type"]) == (200, "text/event-stream")
    assert ("transfer-encoding" in head.response.headers) is not is_http2
    assert [one["params"]["progress"] for one in _messages(_text([first]) + _text(kept.go_on()))] == [1, 2]


def test_a_comment_where_there_is_no_token() -> None:
    assert _text(_kept().go_on()) == b": waiting for a decision\n\n"


@pytest.mark.parametrize("size", [1, 1000])
def test_one_message_becomes_one_event(size: int) -> None:
    expected = [json.loads(_MESSAGE)]
    assert _messages(_answer(_kept(), _MESSAGE, size=size, content_type="application/json")) == expected
    coded = gzip.compress(_MESSAGE)
    given = _answer(_kept(), coded, size=size, content_type="application/json", content_encoding="gzip")
    assert _messages(given) == expected


def test_a_message_adds_no_event_of_its_own() -> None:
    body = b'{"a": 1}\n\nevent: message\ndata: {"id": 9}\r\rdata: x\n\n'
    assert _answer(_kept(), body, content_type="application/json").count(b"\ndata: ") == 1


def test_events_stay_as_they_are() -> None:
    events = b": c\n\nid: 1\r\ndata: {}\r\n\r\n"
    assert _answer(_kept(), events, content_type="text/event-stream") == events


@pytest.mark.parametrize(
    ("status", "fields", "told"),
    [
        (502, {"content_type": "application/json"}, "502"),
        (200, {"content_type": "text/html"}, "200, and not with a message"),
        (202, {}, "202, and not with a message"),
        (204, {"content_type": "application/json"}, "204"),
        (200, {"content_type": "application/json", "content_encoding": "unknown"}, "content coding"),
    ],
)
def test_what_is_no_message_becomes_an_error(status: int, fields: dict[str, str], told: str) -> None:
    [message] = _messages(_answer(_kept(), b"<html>", status=status, **fields))
    assert message["id"] == 3
    assert told in message["error"]["message"]


def test_what_is_not_in_its_coding() -> None:
    sent = _answer(_kept(), b"not gzip at all", content_type="application/json", content_encoding="gzip")
    assert "content coding" in json.loads(sent.split(b"data: ")[-1])["error"]["message"]


def test_an_answer_that_breaks_off() -> None:
    kept = _kept()
    error = ResponseProtocolError(1, "reset", ErrorCode.PASSTHROUGH_CLOSE)
    told, passed = kept.events(error)
    assert passed is error
    assert _messages(_text([told]))[0]["error"]["message"] == "the answer broke off"


@pytest.mark.parametrize(
    ("method", "accept", "content_type", "waits"),
    [
        ("POST", "application/json, text/event-stream", "application/json", True),
        ("GET", "application/json, text/event-stream", "application/json", False),
        ("POST", "*/*", "application/json", False),
        ("POST", "application/json, text/event-stream", "text/plain", False),
        ("POST", None, None, False),
    ],
)
def test_whose_client_may_be_kept_waiting(
    method: str, accept: str | None, content_type: str | None, waits: bool
) -> None:
    given = {"accept": accept, "content-type": content_type}
    fields = {name: value for name, value in given.items() if value is not None}
    assert may_wait(Request.make(method, "https://a.example/", b"", fields)) is waits
