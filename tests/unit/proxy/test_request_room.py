"""The bytes of a request are counted once, also while a hook waits, and what has no room is dropped."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from mitmproxy.connection import Client
from mitmproxy.http import Headers
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestProtocolError,
    RequestTrailers,
)

from addons.verdict import ClientState, open_client
from headgate.kernel.errors import ErrorCode as Code
from proxy.budget import BufferBudget
from proxy.request_room import RequestRoom

if TYPE_CHECKING:
    from proxy.stream import GateStream

_LIMIT = 100


class Stream:
    """What the room needs of one."""

    def __init__(self) -> None:
        client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2))
        self.state = ClientState(client, lambda reason: None)
        open_client(self.state)
        self.context = SimpleNamespace(client=client)
        self.is_watched = self.has_left = False

    def watch(self) -> None:
        self.is_watched = True

    def left_while_paused(self) -> None:
        self.has_left = True


@pytest.fixture
def stream() -> Stream:
    return Stream()


def room_of(stream: Stream, budget: BufferBudget) -> RequestRoom:
    return RequestRoom(cast("GateStream", stream), _LIMIT, budget)


def test_what_waits_and_what_is_held_is_counted_once(stream: Stream) -> None:
    budget = BufferBudget(1000)
    room = room_of(stream, budget)
    assert room.admit(10) is None
    room.append(RequestData(1, b"x" * 20))
    assert budget.used_bytes == 30
    assert room.admit(30) is None, "the stream takes what waited"
    assert budget.used_bytes == stream.state.buffered_bytes == 30
    room.release(10)
    assert budget.used_bytes == 20
    room.release_all()
    room.release_all()
    assert (budget.used_bytes, stream.state.buffered_bytes) == (0, 0)


def test_small_pieces_that_wait_are_joined(stream: Stream) -> None:
    """Each frame of HTTP/2 is an event, whose own size nobody counts."""
    budget = BufferBudget(100_000)
    room = RequestRoom(cast("GateStream", stream), 50_000, budget)
    pieces = [bytes([number % 251]) for number in range(10_000)]
    for piece in pieces:
        room.append(RequestData(1, piece))
    room.append(RequestData(1, b"y" * 5_000))
    room.append(RequestEndOfMessage(1))
    waiting = list(room)
    assert [type(one) for one in waiting] == [RequestData] * 4 + [RequestEndOfMessage]
    data = [one.data for one in waiting if isinstance(one, RequestData)]
    assert b"".join(data) == b"".join(pieces) + b"y" * 5_000
    assert max(map(len, data[:-1])) <= 4_096
    assert budget.used_bytes == 15_000


def test_pieces_are_joined_with_none_that_something_else_came_after(stream: Stream) -> None:
    room = room_of(stream, BufferBudget(1000))
    events = [RequestData(1, b"a"), RequestTrailers(1, Headers()), RequestData(1, b"b")]
    for event in events:
        room.append(event)
    assert list(room) == events


def test_a_request_without_a_body_is_not_watched(stream: Stream) -> None:
    room = room_of(stream, BufferBudget(1000))
    room.append(RequestEndOfMessage(1))
    room.release_all()
    assert not stream.is_watched
    assert room.admit(1) is None
    assert stream.is_watched


def test_a_body_over_the_limit_is_refused(stream: Stream) -> None:
    budget = BufferBudget(1000)
    room = room_of(stream, budget)
    assert room.admit(_LIMIT) is None
    refused = room.admit(_LIMIT + 1)
    assert refused is not None
    assert refused.code is Code.PAYLOAD_TOO_LARGE
    assert budget.used_bytes == _LIMIT


@pytest.mark.parametrize(
    ("budget_bytes", "size", "code"),
    [(1000, 60, Code.PAYLOAD_TOO_LARGE), (60, 30, Code.SERVICE_UNAVAILABLE)],
    ids=["limit", "budget"],
)
def test_what_has_no_room_is_dropped_and_all_that_follows(
    stream: Stream, budget_bytes: int, size: int, code: Code
) -> None:
    budget = BufferBudget(budget_bytes)
    room = room_of(stream, budget)
    first, end = RequestData(1, b"x" * 50), RequestEndOfMessage(1)
    for event in (first, RequestData(1, b"y" * size), RequestData(1, b"z"), end):
        room.append(event)
    assert list(room) == [first, end]
    assert room.overflow is not None
    assert room.overflow.code is code
    assert budget.used_bytes == 50


def test_a_client_that_leaves_while_a_hook_waits_is_noticed(stream: Stream) -> None:
    room = room_of(stream, BufferBudget(1000))
    room.append(RequestData(1, b"x"))
    assert not stream.has_left
    room.append(RequestProtocolError(1, "gone", ErrorCode.CLIENT_DISCONNECTED))
    assert stream.has_left
