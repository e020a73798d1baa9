"""What is decided about a call without sending it."""

import httpx
import pytest

from headgate.client import (
    ApiError,
    AsyncClient,
    Client,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    RateLimitedError,
    ServerFaultError,
    UnauthorizedError,
    UnavailableError,
    UnreachableError,
)
from headgate.client.call import Call, Patience
from headgate.client.pages import next_page

NOW = "2026-11-21T08:00:00Z"


def _answers(*answers: httpx.Response | Exception) -> tuple[httpx.MockTransport, list[httpx.Request]]:
    """In this order; the last one again and again."""
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        answer = answers[min(len(seen), len(answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    return httpx.MockTransport(handle), seen


def _client(transport: httpx.MockTransport, slept: list[float], **patience: float) -> Client:
    return Client("http://api", token="t", transport=transport, sleep=slept.append, patience=Patience(**patience))  # type: ignore[arg-type]


REFUSALS = [
    (400, InvalidError),
    (401, UnauthorizedError),
    (403, ForbiddenError),
    (404, NotFoundError),
    (409, ConflictError),
    (429, RateLimitedError),
    (500, ServerFaultError),
    (503, UnavailableError),
    (418, ApiError),
]


@pytest.mark.parametrize(("status", "kind"), REFUSALS)
def test_each_refusal_has_its_class(status: int, kind: type[ApiError]) -> None:
    error = {"code": "X", "message": "no", "details": {"field": "a"}, "timestamp": NOW, "requestId": "req_1"}
    transport, _ = _answers(httpx.Response(status, json={"error": error}, headers={"retry-after": "7"}))
    with pytest.raises(ApiError) as caught:
        _client(transport, [], seconds=0).send(Call("POST", "/x"))
    told = caught.value
    assert type(told) is kind
    assert (told.status, told.code, told.message, told.details) == (status, "X", "no", {"field": "a"})
    assert (told.request_id, told.retry_after_seconds) == ("req_1", 7.0)


def test_the_flat_shape_and_no_shape() -> None:
    for body, message in (({"error": "BAD", "message": "flat"}, "flat"), (["odd"], "http://api/x answered 400")):
        transport, _ = _answers(httpx.Response(400, json=body))
        with pytest.raises(InvalidError) as caught:
            _client(transport, []).send(Call("POST", "/x"))
        assert caught.value.message == message


def test_what_came_too_fast_is_sent_again_when_it_may_whatever_it_is() -> None:
    slow = httpx.Response(429, json={}, headers={"retry-after": "3"})
    transport, seen = _answers(slow, slow, httpx.Response(200, json={"id": "x"}))
    slept: list[float] = []
    assert _client(transport, slept).send(Call("POST", "/x", body={})) == {"id": "x"}
    assert (slept, len(seen)) == ([3.0, 3.0], 3)
    transport, seen = _answers(slow)
    with pytest.raises(RateLimitedError):
        _client(transport, slept, seconds=7).send(Call("POST", "/x"))
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("call", "tries"),
    [
        (Call("GET", "/x"), 4),
        (Call("PUT", "/x", body={}), 4),
        (Call("POST", "/x", body={"idempotency_key": "k"}), 4),
        (Call("POST", "/x", body={}), 1),
        (Call("PATCH", "/x", body={}), 1),
    ],
)
def test_what_failed_on_the_way_is_repeated_only_where_that_does_no_harm(call: Call[object], tries: int) -> None:
    for failure in (httpx.Response(503, json={}), httpx.ConnectError("no")):
        transport, seen = _answers(failure)
        with pytest.raises((UnavailableError, UnreachableError)):
            _client(transport, []).send(call)
        assert len(seen) == tries


def test_a_defect_is_not_repeated_and_text_is_not_json() -> None:
    transport, seen = _answers(httpx.Response(500, json={}))
    with pytest.raises(ServerFaultError):
        _client(transport, []).send(Call("GET", "/x"))
    assert len(seen) == 1
    transport, _ = _answers(httpx.Response(200, text="<html>"))
    with pytest.raises(UnreachableError, match="Is this the address of Headgate's API"):
        _client(transport, []).send(Call("GET", "/x"))


def test_one_credential_and_no_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(ValueError, match="not both"):
        Client("http://api", token="t", agent_key="k")
    transport, seen = _answers(httpx.Response(204))
    assert (
        Client("http://api/", agent_key="k", transport=transport).send(Call("DELETE", "/x", {"a": None, "b": True}))
        is None
    )
    assert seen[0].headers["x-agent-key"] == "k"
    assert str(seen[0].url) == "http://api/x?b=true"


def test_pages_by_cursor_and_by_offset() -> None:
    call: Call[object] = Call("GET", "/x", {"limit": 2, "offset": 0})
    by_cursor = next_page(call, {"data": [1, 2], "pagination": {"next_cursor": "c"}})
    assert by_cursor is not None and by_cursor.parameters == {"limit": 2, "cursor": "c"}
    assert next_page(call, {"data": [1], "pagination": {"next_cursor": None}}) is None
    by_offset = next_page(call, {"data": [1, 2], "pagination": {"total": 3, "limit": 2, "offset": 0}})
    assert by_offset is not None and by_offset.parameters["offset"] == 2
    assert next_page(by_offset, {"data": [3], "pagination": {"total": 3, "limit": 2, "offset": 2}}) is None


async def test_the_other_client_decides_the_same() -> None:
    slow = httpx.Response(429, json={}, headers={"retry-after": "3"})
    transport, seen = _answers(slow, httpx.Response(200, json={"id": "x"}))
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with AsyncClient("http://api", token="t", transport=transport, sleep=sleep) as client:
        assert await client.send(Call("POST", "/x", body={})) == {"id": "x"}
    assert (slept, len(seen)) == ([3.0], 2)
