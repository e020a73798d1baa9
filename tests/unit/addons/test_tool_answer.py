"""What the record says of a tool's call, read from its answer as it passes."""

import gzip

import pytest

from addons.tool_answer import HELD_BYTES_MAX, ToolAnswer
from headgate.protocols.answer_head import AnswerHead, parse_answer_head
from headgate.protocols.mcp_answer import TOOL_FAILED

_FAILED = b'{"jsonrpc": "2.0", "id": 1, "result": {"isError": true}}'
_EVENT = b"event: message\ndata: " + _FAILED + b"\n\n"


def _head(media_type: bytes, coding: bytes = b"") -> AnswerHead:
    fields = [(b"content-type", media_type)] + ([(b"content-encoding", coding)] if coding else [])
    return parse_answer_head(200, fields, method="POST")


def _failure(head: AnswerHead, body: bytes, size: int) -> str | None:
    answer = ToolAnswer(1)
    answer.begin(head)
    for at in range(0, len(body), size):
        answer.feed(body[at : at + size])
    return answer.failure()


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize(("media_type", "body"), [(b"application/json", _FAILED), (b"text/event-stream", _EVENT)])
def test_however_it_arrives(media_type: bytes, body: bytes, size: int) -> None:
    assert _failure(_head(media_type), body, size) == TOOL_FAILED
    assert _failure(_head(media_type, b"gzip"), gzip.compress(body), size) == TOOL_FAILED


def test_a_failure_after_other_events_and_before_them() -> None:
    others = b"data: {}\n\n" * 1000
    assert _failure(_head(b"text/event-stream"), others + _EVENT + others, 100) == TOOL_FAILED


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (_head(b"text/plain"), _FAILED),
        (_head(b"application/json"), _FAILED + b" " * HELD_BYTES_MAX),
        (_head(b"text/event-stream"), b"data: " + b"x" * HELD_BYTES_MAX + b"\n" + _EVENT),
        (_head(b"application/json", b"gzip"), _FAILED),
        (_head(b"application/json", b"unknown"), _FAILED),
        (_head(b"application/json", b"gzip"), gzip.compress(_FAILED + b" " * (HELD_BYTES_MAX * 3))),
        (_head(b"application/json"), b""),
    ],
)
def test_what_cannot_be_read_says_nothing(head: AnswerHead, body: bytes) -> None:
    assert _failure(head, body, 1 << 16) is None
