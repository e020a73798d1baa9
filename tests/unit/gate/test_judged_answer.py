"""What of an answer is judged: its fields and all that can be read of its body; or why it cannot be read."""

import gzip
import json

import pytest

from headgate.gate.judged_answer import Answer, AnsweredCall, judged_answer, judged_pieces
from headgate.protocols.answer_head import parse_answer_head
from headgate.protocols.answer_pieces import Windows

_CALL = AnsweredCall("http", "get")
_SECRET = "the secret"


def _judged(body: bytes, content_type: str = "", *fields: tuple[bytes, bytes], trailers=()):
    named = ((b"Content-Type", content_type.encode()), *fields) if content_type else fields
    answer = Answer(parse_answer_head(200, named, method="GET"), body, trailers)
    return judged_answer(_CALL, answer, max_bytes=10_000)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"a": ["the secret"]}', "application/json"),
        (b'{"a": ["the secret"]}', "image/png"),
        (b"the secret", ""),
        (b"\xef\xbb\xbfthe secret", "text/plain"),
        ("the secret é".encode("latin-1"), "text/plain; charset=ISO-8859-1"),
        ("the secret é".encode("utf-16"), "text/plain; charset=utf-16"),
        ("the secret".encode("utf-16-le"), "text/plain"),
        ("the secret 秘密".encode("shift_jis"), "text/plain; charset=Shift_JIS"),
        # Labelled as something in which its bytes say something else: both readings are judged.
        (b"the secret", "text/plain; charset=utf-16le"),
        (b"the secret", "text/plain; charset=utf-16be"),
    ],
)
def test_text_is_read(body: bytes, content_type: str) -> None:
    content = _judged(body, content_type)
    assert content.unread is None
    assert _SECRET in json.dumps(content.value)


@pytest.mark.parametrize(
    ("body", "content_type", "why"),
    [
        (b"+AHMAZQBjAHIAZQB0-", "text/plain; charset=utf-7", "character set"),
        (b"x", "text/html; charset=iso-2022-jp", "character set"),
        (b"x", "text/html; charset=hz-gb-2312", "character set"),
        (b"x", "text/html; charset=rot13", "character set"),
        (b"x", "text/html; charset=zlib_codec", "character set"),
        (b"x", "text/html; charset=nonsense", "character set"),
        (b"odd", "text/plain; charset=utf-16le", "character set that it names"),
        (b"\xff\xfe\xff", "text/plain; charset=euc-jp", "character set that it names"),
    ],
)
def test_what_cannot_be_read_is_said(body: bytes, content_type: str, why: str) -> None:
    content = _judged(body, content_type)
    assert why in str(content.unread)
    assert "body" not in content.value


def test_what_is_not_text_is_an_attachment() -> None:
    content = _judged(bytes(range(256)), "text/plain")

    assert [one.data for one in content.attachments] == [bytes(range(256))]
    assert "body" not in content.value


def test_fields_and_trailers_are_judged_but_not_the_protocols_own() -> None:
    fields = (b"X-Note", b"one"), (b"x-note", b"two"), (b"Set-Cookie", b"id=3"), (b"ETag", b'"4"')
    content = _judged(b"", "", *fields, trailers=((b"X-Sum", b"five"),))
    assert content.value["answer"] == {"status": 200, "headers": {"x-note": "one, two", "x-sum": "five"}}


def test_what_is_compressed_counts_as_it_decodes() -> None:
    field = (b"Content-Encoding", b"gzip")
    assert _judged(gzip.compress(b'{"a": "the secret"}'), "", field).value["body"] == {"a": _SECRET}
    assert "larger than 10000" in str(_judged(gzip.compress(bytes(10_001)), "", field).unread)


def test_a_piece_of_a_stream_with_two_readings_is_not_read() -> None:
    head = parse_answer_head(200, ((b"Content-Type", b"application/x-ndjson"),), method="GET")

    content = judged_pieces(_CALL, head, b'{"s": "x", "s": "the secret"}\n', Windows())

    assert content.unread == "a piece of the stream has two members of one name"
