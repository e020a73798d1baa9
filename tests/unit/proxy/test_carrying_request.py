"""The request that is written carries the credential; the one that addons see does not."""

from mitmproxy.http import Headers, Request
from mitmproxy.proxy.layers.http._events import RequestData, RequestEndOfMessage, RequestHeaders

from headgate.protocols.http_call import HttpCall
from proxy.carrying_request import carrying

_BODY = b'{"key": "s3cr3t"}'


def seen(**fields: str) -> Request:
    """As the agent sent it."""
    headers = Headers([(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()])
    version = b"HTTP/1.1"
    return Request("a.test", 443, b"POST", b"https", b"a.test", b"/v1/items?a=b", version, headers, None, None, 1, 0)


def written(path: str = "/v1/items", query: str = "", **fields: str) -> HttpCall:
    headers = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in fields.items())
    return HttpCall("POST", "https", "a.test", 443, path, query, headers, _BODY)


def head(request: Request, outgoing: HttpCall) -> Request:
    event = carrying(RequestHeaders(3, request, end_stream=False), request, outgoing)
    assert isinstance(event, RequestHeaders)
    assert (event.stream_id, event.end_stream) == (3, False)
    return event.request


def test_the_head_is_the_one_with_the_credential() -> None:
    request = seen(authorization="Bearer hg_placeholder_svc")
    sent = head(request, written(authorization="Bearer s3cr3t"))
    assert sent.headers.fields == ((b"authorization", b"Bearer s3cr3t"),)
    assert (sent.path, sent.method, sent.host, sent.timestamp_start) == ("/v1/items", "POST", "a.test", 1)
    assert request.headers["authorization"] == "Bearer hg_placeholder_svc"
    assert request.path == "/v1/items?a=b"


def test_a_credential_in_the_query_is_in_the_target() -> None:
    assert head(seen(), written(query="api_key=s3cr3t")).path == "/v1/items?api_key=s3cr3t"


def test_a_length_is_that_of_the_body_with_the_credential() -> None:
    assert head(seen(content_length="4"), written(content_length="4")).headers["content-length"] == str(len(_BODY))
    assert "content-length" not in head(seen(), written(transfer_encoding="chunked")).headers


def test_the_body_is_replaced_and_the_end_is_not() -> None:
    request, outgoing, end = seen(), written(), RequestEndOfMessage(3)
    assert carrying(RequestData(3, b"hg_placeholder_svc"), request, outgoing) == RequestData(3, _BODY)
    assert carrying(end, request, outgoing) is end
