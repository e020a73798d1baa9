"""Which calls may be forwarded without their end, and how often it is looked whether they wait."""

import pytest
from mitmproxy.http import Headers, Request
from mitmproxy.proxy.utils import ReceiveBuffer

from proxy.interactive_call import LOOK_SECONDS_MIN, interactive_call


def call(**fields: str) -> Request:
    headers = Headers([(b"content-type", b"application/grpc")])
    for name, value in fields.items():
        headers[name.replace("_", "-")] = value
    return Request("a.test", 443, b"POST", b"https", b"a.test", b"/e.Echo/Chat", b"HTTP/2.0", headers, None, None, 0, 0)


@pytest.mark.parametrize("timeout", ["0S", "1n", "1m"])
def test_a_deadline_of_nothing_asks_for_no_look_after_look(timeout: str) -> None:
    """Each copies what has arrived, and its client may be in the middle of a message for two minutes."""
    found = interactive_call(call(grpc_timeout=timeout), 0.1)
    assert found is not None
    assert found.pause_seconds == LOOK_SECONDS_MIN


def test_two_looks_fit_into_a_short_deadline() -> None:
    found = interactive_call(call(grpc_timeout="100m"), 0.1)
    assert found is not None
    assert found.pause_seconds == pytest.approx(0.03)


@pytest.mark.parametrize("field", ["content_length", "content_encoding"])
def test_a_body_that_is_one_whole_is_not_forwarded_in_parts(field: str) -> None:
    assert interactive_call(call(**{field: "5"}), 0.1) is None


def test_a_message_that_does_not_end_is_no_pause() -> None:
    found = interactive_call(call(), 0.1)
    assert found is not None
    body = ReceiveBuffer()
    body += b"\0\0\0\0\5he"
    assert [found.waits(body) for _ in range(3)] == [False, False, False]
    body += b"llo"
    assert [found.waits(body) for _ in range(2)] == [False, True]
