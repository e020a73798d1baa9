"""Messages of an answer of gRPC, out of their frames."""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.protocols.answer_head import AnswerHead, parse_answer_head
from headgate.protocols.grpc_answer import MessagePieces, comes_in_messages, read_messages
from headgate.protocols.protobuf_wire import Unread

HELLO = b"\n\x05hello"


def head(content_type: str = "application/grpc", *fields: tuple[bytes, bytes]) -> AnswerHead:
    return parse_answer_head(200, [(b"content-type", content_type.encode()), *fields], method="POST")


def frame(message: bytes, flags: int = 0) -> bytes:
    return bytes([flags]) + len(message).to_bytes(4, "big") + message


@pytest.mark.parametrize(
    ("content_type", "comes"),
    [
        ("application/grpc", True),
        ("application/grpc+proto", True),
        ("application/connect+json", True),
        ("application/grpc-web", False),
        ("application/grpc-web+proto", False),
        ("application/connect", False),
        ("application/json", False),
    ],
)
def test_which_answers_come_in_messages(content_type: str, *, comes: bool) -> None:
    assert comes_in_messages(head(content_type)) is comes


@given(st.lists(st.binary(max_size=40), max_size=6), st.binary(max_size=4), st.integers(1, 9))
@settings(max_examples=200, deadline=None)
def test_pieces_are_whole_messages_and_nothing_is_lost(messages: list[bytes], rest: bytes, step: int) -> None:
    body = b"".join(map(frame, messages)) + rest
    pieces, taken = MessagePieces(), []
    for at in range(0, len(body), step):
        pieces.feed(body[at : at + step])
        if pieces.ready:
            taken.append(pieces.take())
    for one in taken:
        assert read_messages(head("application/grpc+thrift"), one).unread in (None, Unread.CODEC)
    pieces.finish()
    assert b"".join(taken) + pieces.take() == body
    assert len(pieces) == 0


def test_each_message_is_read() -> None:
    packed = frame(gzip.compress(HELLO, mtime=0), 1)
    read = read_messages(head("application/grpc", (b"grpc-encoding", b"gzip")), frame(HELLO) + packed)
    assert read.unread is None
    assert [one["1"][0]["text"] for one in read.values] == ["hello", "hello"]


def test_the_last_frame_of_connect_is_json() -> None:
    end = frame(json.dumps({"error": {"message": "secret"}}).encode(), 2)
    read = read_messages(head("application/connect+proto"), frame(HELLO) + end)
    assert read.unread is None
    assert read.values[1] == {"error": {"message": "secret"}}


@pytest.mark.parametrize(
    ("content_type", "stretch", "reason"),
    [
        ("application/grpc", frame(gzip.compress(HELLO, mtime=0), 1), Unread.COMPRESSION),
        ("application/grpc", frame(HELLO, 4), Unread.FLAGS),
        ("application/grpc", frame(b"\xff\xff"), Unread.INVALID),
        ("application/grpc+thrift", frame(HELLO), Unread.CODEC),
        ("application/grpc+json", frame(b"{"), Unread.INVALID),
        ("application/grpc", frame(HELLO)[:-1], Unread.TRUNCATED),
    ],
)
def test_what_is_not_read_is_said_and_kept(content_type: str, stretch: bytes, reason: Unread) -> None:
    read = read_messages(head(content_type), stretch)
    assert read.unread is reason
    assert read.opaque[0][1] in stretch


@given(st.binary(max_size=120), st.sampled_from(["application/grpc", "application/connect+json", "application/grpc+x"]))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_said_to_be_unread(stretch: bytes, content_type: str) -> None:
    read = read_messages(head(content_type), stretch)
    assert read.unread is None or read.opaque
