"""The head of a WebSocket over HTTP/2 has one reading as a handshake of HTTP/1.1, and only its own answer opens it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.http import Headers, Response

from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, ProtocolRefusedError
from proxy.extended_connect import came_over_http2, handshake, is_connect, not_opened, opened_head

_KEY = bytes(range(16))
_HEAD = [
    (b":method", b"CONNECT"),
    (b":protocol", b"websocket"),
    (b":scheme", b"https"),
    (b":path", b"/chat?a=b"),
    (b":authority", b"a.example"),
    (b"sec-websocket-version", b"13"),
]
# RFC 6455, 1.3
_SAMPLE_KEY, _SAMPLE_PROOF = b"the sample nonce", b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def _without(name: bytes) -> list[tuple[bytes, bytes]]:
    return [field for field in _HEAD if field[0] != name]


def _answer(status: int, **fields: bytes) -> Response:
    headers = Headers([(name.replace("_", "-").encode(), value) for name, value in fields.items()])
    return Response(b"HTTP/1.1", status, b"", headers, b"", None, 0.0, 0.0)


_SWITCHED: dict[str, bytes] = {
    "connection": b"keep-alive, Upgrade",
    "upgrade": b"WebSocket",
    "sec_websocket_accept": _SAMPLE_PROOF,
}


def test_the_handshake() -> None:
    fields = [*_HEAD, (b"cookie", b"a=1"), (b"origin", b"https://a.example"), (b"cookie", b"b=2")]
    request = handshake(fields, _KEY, is_ended=False)
    assert (request.method, request.path, request.http_version) == ("GET", "/chat?a=b", "HTTP/1.1")
    assert request.headers.fields == (
        (b"host", b"a.example"),
        (b"sec-websocket-version", b"13"),
        (b"origin", b"https://a.example"),
        (b"cookie", b"a=1; b=2"),
        (b"connection", b"Upgrade"),
        (b"upgrade", b"websocket"),
        (b"sec-websocket-key", b"AAECAwQFBgcICQoLDA0ODw=="),
    )


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (_without(b":protocol"), AmbiguousRequestError),
        (_without(b":scheme"), AmbiguousRequestError),
        (_without(b":path"), AmbiguousRequestError),
        (_without(b":authority"), AmbiguousRequestError),
        ([*_without(b":method"), (b":method", b"GET")], AmbiguousRequestError),
        ([*_without(b":scheme"), (b":scheme", b"http")], AmbiguousRequestError),
        ([*_without(b":protocol"), (b":protocol", b"webtransport")], ProtocolRefusedError),
        ([*_HEAD, (b":path", b"/other")], AmbiguousRequestError),
        ([*_HEAD, (b":status", b"200")], AmbiguousRequestError),
        ([*_HEAD, (b"content-length", b"0")], AmbiguousRequestError),
        ([*_HEAD, (b"transfer-encoding", b"chunked")], AmbiguousRequestError),
        ([*_HEAD, (b"upgrade", b"websocket")], AmbiguousRequestError),
        ([*_HEAD, (b"connection", b"upgrade")], AmbiguousRequestError),
        ([*_HEAD, (b"sec-websocket-key", b"x")], AmbiguousRequestError),
        ([*_HEAD, (b"sec_websocket_key", b"x")], AmbiguousRequestError),
        ([*_HEAD, (b"host", b"b.example")], AmbiguousRequestError),
    ],
)
def test_a_head_without_one_reading(fields: list[tuple[bytes, bytes]], error: type[HeadgateError]) -> None:
    with pytest.raises(error):
        handshake(fields, _KEY, is_ended=False)


def test_a_client_that_has_nothing_to_say() -> None:
    with pytest.raises(AmbiguousRequestError):
        handshake(_HEAD, _KEY, is_ended=True)


@given(st.lists(st.tuples(st.sampled_from([*dict(_HEAD), b"host", b"cookie", b"x"]), st.binary(max_size=12))))
def test_whatever_the_fields(fields: list[tuple[bytes, bytes]]) -> None:
    """Either a refusal of ours, or a handshake with one host and one key."""
    try:
        request = handshake([*_HEAD, *fields], _KEY, is_ended=False)
    except HeadgateError:
        return
    assert request.headers.get_all("host") == ["a.example"]
    assert len(request.headers.get_all("sec-websocket-key")) == 1


@pytest.mark.parametrize(
    ("fields", "asks"),
    [
        (_HEAD, True),
        (_without(b":protocol"), True),
        ([*_without(b":method"), (b":method", b"GET")], True),
        ([(b":method", b"GET"), (b"protocol", b"websocket")], False),
    ],
)
def test_what_asks_for_a_tunnel(fields: list[tuple[bytes, bytes]], asks: bool) -> None:
    assert is_connect(fields) is asks


@pytest.mark.parametrize(("alpn", "version", "is_so"), [(b"h2", b"HTTP/1.1", True), (b"h2", b"HTTP/2.0", False)])
def test_how_the_handshake_came(alpn: bytes, version: bytes, is_so: bool) -> None:
    client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), state=ConnectionState.OPEN, alpn=alpn)
    request = handshake(_HEAD, _KEY, is_ended=False)
    request.data.http_version = version
    assert came_over_http2(request, client) is is_so
    client.alpn = b"http/1.1"
    assert not came_over_http2(request, client)


@pytest.mark.parametrize(
    ("status", "fields", "opens_or_refuses"),
    [
        (101, _SWITCHED, True),
        (101, _SWITCHED | {"sec_websocket_accept": b"s3pPLMBiTxaQ9kYGzzhZRbK+xO0="}, False),
        (101, {name: value for name, value in _SWITCHED.items() if name != "sec_websocket_accept"}, False),
        (101, {name: value for name, value in _SWITCHED.items() if name != "upgrade"}, False),
        (101, _SWITCHED | {"connection": b"close"}, False),
        (200, _SWITCHED, False),
        (204, {}, False),
        (302, {}, True),
        (403, {}, True),
        (500, {}, True),
    ],
)
def test_which_answers_the_client_may_see(status: int, fields: dict[str, Any], opens_or_refuses: bool) -> None:
    request = handshake(_HEAD, _SAMPLE_KEY, is_ended=False)
    assert request.headers["sec-websocket-key"] == "dGhlIHNhbXBsZSBub25jZQ=="
    assert (not_opened(request, _answer(status, **fields)) is None) is opens_or_refuses


def test_two_proofs_are_none() -> None:
    answer = _answer(101, **_SWITCHED)
    answer.headers.add("sec-websocket-accept", _SAMPLE_PROOF.decode())
    assert not_opened(handshake(_HEAD, _SAMPLE_KEY, is_ended=False), answer) is not None


def test_the_head_that_says_it_is_open() -> None:
    answer = _answer(101, **_SWITCHED, content_length=b"5", keep_alive=b"x", Sec_WebSocket_Protocol=b"chat")
    assert opened_head(answer) == [(b":status", b"200"), (b"sec-websocket-protocol", b"chat")]
