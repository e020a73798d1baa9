"""Which calls may be forwarded without their end, and how often the proxy looks whether they wait."""

import pytest
from mitmproxy.http import Headers, Request
from mitmproxy.proxy.utils import ReceiveBuffer

from proxy.request_pause import LOOK_SECONDS_MIN, request_pause


def call(version: bytes = b"HTTP/2.0", form: bytes = b"application/grpc", **fields: str) -> Request:
    headers = Headers([(b"content-type", form)])
    for name, value in fields.items():
        headers[name.replace("_", "-")] = value
    return Request("a.test", 443, b"POST", b"https", b"a.test", b"/e.Echo/Chat", version, headers, None, None, 0, 0)


@pytest.mark.parametrize(
    ("version", "form", "may_wait"),
    [
        (b"HTTP/2.0", b"application/grpc", True),
        (b"HTTP/2.0", b"application/grpc+proto", True),
        (b"HTTP/2.0", b"application/connect+json", True),
        (b"HTTP/2.0", b"application/grpc-web+proto", False),
        (b"HTTP/2.0", b"application/proto", False),
        (b"HTTP/2.0", b"application/json", False),
        (b"HTTP/1.1", b"application/grpc", False),
        (b"HTTP/1.1", b"application/connect+json", False),
    ],
)
def test_which_calls_may_wait_for_an_answer(version: bytes, form: bytes, *, may_wait: bool) -> None:
    assert (request_pause(call(version, form), 0.1) is not None) is may_wait


@pytest.mark.parametrize("timeout", ["0S", "1n", "1m"])
def test_a_deadline_of_nothing_asks_for_no_look_after_look(timeout: str) -> None:
    """A look copies what has arrived, and a client may need two minutes for one message."""
    found = request_pause(call(grpc_timeout=timeout), 0.1)
    assert found is not None
    assert found.pause_seconds == LOOK_SECONDS_MIN


def test_two_looks_fit_into_a_short_deadline() -> None:
    found = request_pause(call(grpc_timeout="100m"), 0.1)
    assert found is not None
    assert found.pause_seconds == pytest.approx(0.03)


@pytest.mark.parametrize("field", ["content_length", "content_encoding"])
def test_a_body_that_is_one_whole_is_not_forwarded_in_parts(field: str) -> None:
    assert request_pause(call(**{field: "5"}), 0.1) is None


def test_a_message_that_does_not_end_is_no_pause() -> None:
    found = request_pause(call(), 0.1)
    assert found is not None
    body = ReceiveBuffer()
    body += b"\0\0\0\0\5he"
    assert [found.waits(body) for _ in range(3)] == [False, False, False]
    body += b"llo"
    assert [found.waits(body) for _ in range(2)] == [False, True]
