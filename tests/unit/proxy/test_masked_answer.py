"""The credential of a connection never comes back in an answer, in whatever pieces and coding it comes."""

import gzip

import pytest
from mitmproxy.http import Headers, Response
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
    ResponseTrailers,
)

from headgate.connections.echoes import EchoMask
from headgate.protocols.coded_stream import UndecodableError
from headgate.protocols.grpc_frames import frame_of
from proxy.masked_answer import UNREADABLE, MaskedAnswer

_SECRET = b"s3cr3t-token"
_STARS = b"*" * len(_SECRET)
_END = ResponseEndOfMessage(3)


def answer(method: bytes = b"GET", *, is_http2: bool = False, is_in_messages: bool = False) -> MaskedAnswer:
    return MaskedAnswer(EchoMask(frozenset({_SECRET})), 3, method, is_http2=is_http2, is_in_messages=is_in_messages)


def headers(status: int = 200, **fields: str) -> ResponseHeaders:
    named = Headers([(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()])
    return ResponseHeaders(3, Response(b"HTTP/1.1", status, b"OK " + _SECRET, named, None, None, 0, None))


def passed(masked: MaskedAnswer, *pieces: bytes) -> list[bytes]:
    """What the client gets, and when: an entry for each piece, and one for the end."""
    arrived = (*(ResponseData(3, piece) for piece in pieces), _END)
    return [b"".join(one.data for one in masked.masked(event) if isinstance(one, ResponseData)) for event in arrived]


def test_an_echo_in_the_head_is_masked() -> None:
    (event,) = answer().masked(headers(location=f"/?token={_SECRET.decode()}", etag='"1"'))
    assert isinstance(event, ResponseHeaders)
    assert event.response.headers["location"] == f"/?token={_STARS.decode()}"
    assert event.response.data.reason == b"OK " + _STARS
    assert event.response.headers["etag"] == '"1"'


def test_an_echo_across_pieces_is_held_back_until_it_is_whole() -> None:
    assert passed(answer(), b"a " + _SECRET[:5], _SECRET[5:] + b" b") == [b"a ", _STARS + b" b", b""]


def test_what_only_began_as_an_echo_comes_at_the_end() -> None:
    assert passed(answer(), b"a " + _SECRET[:5]) == [b"a ", _SECRET[:5]]


def test_a_message_of_grpc_is_not_held_back() -> None:
    """Its client waits for all of it before it sends more."""
    message = frame_of(0, b"a " + _SECRET[:5])
    assert passed(answer(is_in_messages=True), message) == [message, b""]
    assert passed(answer(), message) == [message[:-5], _SECRET[:5]]


@pytest.mark.parametrize("is_http2", [False, True])
def test_an_answer_in_a_coding_is_decoded_first(is_http2: bool) -> None:
    masked, coded = answer(is_http2=is_http2), gzip.compress(b"a " + _SECRET)
    (event,) = masked.masked(
        headers(content_encoding="GZIP", content_length=str(len(coded)), etag='"1"', content_type="text/plain")
    )
    assert isinstance(event, ResponseHeaders)
    framing = {} if is_http2 else {"transfer-encoding": "chunked"}
    assert dict(event.response.headers) == {"content-type": "text/plain", **framing}
    assert b"".join(passed(masked, coded[:9], coded[9:])) == b"a " + _STARS


@pytest.mark.parametrize(("method", "status"), [(b"HEAD", 200), (b"GET", 304), (b"GET", 204)])
def test_an_answer_without_a_body_keeps_its_fields(method: bytes, status: int) -> None:
    (event,) = answer(method).masked(headers(status, content_encoding="gzip", content_length="9"))
    assert isinstance(event, ResponseHeaders)
    assert dict(event.response.headers) == {"content-encoding": "gzip", "content-length": "9"}


def test_a_coding_that_cannot_be_decoded_is_refused() -> None:
    with pytest.raises(UndecodableError):
        answer().masked(headers(content_encoding="compress"))
    masked = answer()
    masked.masked(headers(content_encoding="gzip"))
    with pytest.raises(UndecodableError):
        masked.masked(ResponseData(3, _SECRET))
    refused = masked.unreadable()
    assert isinstance(refused, ResponseProtocolError)
    assert (refused.stream_id, refused.message) == (3, UNREADABLE)


def test_an_echo_in_trailers_and_errors_is_masked() -> None:
    (trailers,) = answer().masked(ResponseTrailers(3, Headers([(b"grpc-message", b"no: " + _SECRET)])))
    assert isinstance(trailers, ResponseTrailers)
    assert trailers.trailers["grpc-message"] == f"no: {_STARS.decode()}"
    failed = ResponseProtocolError(3, f"bad header {_SECRET.decode()}", ErrorCode.GENERIC_SERVER_ERROR)
    (error,) = answer().masked(failed)
    assert isinstance(error, ResponseProtocolError)
    assert error.message == f"bad header {_STARS.decode()}"
