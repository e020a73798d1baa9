"""What the head of an answer says of its body, and which answers cannot be inspected at all."""

import pytest

from headgate.protocols.answer_head import StreamKind, objection_to, parse_answer_head


def _head(*fields: str, status: int = 200, method: str = "GET"):
    pairs = tuple(tuple(part.strip().encode("latin-1") for part in field.split(":", 1)) for field in fields)
    return parse_answer_head(status, pairs, method=method)


@pytest.mark.parametrize(
    ("fields", "objection"),
    [
        ((), None),
        (("Content-Length: 1000",), None),
        (("Content-Length: 1001",), "larger than the 1000 bytes"),
        (("Content-Length: 1001", "Content-Type: text/event-stream"), None),
        (("Content-Encoding: GZIP",), None),
        (("Content-Encoding: identity",), None),
        (("Content-Encoding: gzip", "Content-Encoding: br"), "content coding"),
        (("Content-Encoding: aes128gcm",), "content coding"),
        (("Transfer-Encoding: Chunked",), None),
        (("Transfer-Encoding: gzip, chunked",), "transfer coding"),
        (("Transfer-Encoding: deflate",), "transfer coding"),
        (("Content-Range: bytes 0-9/10",), None),
        (("Content-Range: bytes 0-9/*",), "206"),
        (("Content-Range: bytes 1-9/10",), "206"),
        (("Content-Range: bytes 0-8/10",), "206"),
        (("Content-Range: bytes 0-9/10", "Content-Range: bytes 0-9/10"), "206"),
    ],
)
def test_objections(fields: tuple[str, ...], objection: str | None) -> None:
    said = objection_to(_head(*fields), max_bytes=1000)
    assert said is None if objection is None else objection in str(said)


@pytest.mark.parametrize(
    ("status", "method", "objects"),
    [
        (100, "GET", True),
        (101, "GET", True),
        (103, "HEAD", True),
        (200, "GET", False),
        (204, "GET", False),
        (206, "GET", True),
        (206, "HEAD", False),
        (304, "GET", False),
        (416, "GET", False),
        (500, "GET", False),
    ],
)
def test_statuses(status: int, method: str, objects: bool) -> None:
    assert (objection_to(_head(status=status, method=method), max_bytes=10) is not None) == objects


@pytest.mark.parametrize(
    ("content_type", "media_type", "charset", "stream"),
    [
        ("text/event-stream", "text/event-stream", "", StreamKind.EVENTS),
        ("Text/Event-Stream;charset=UTF-8", "text/event-stream", "utf-8", StreamKind.EVENTS),
        ("application/x-ndjson", "application/x-ndjson", "", StreamKind.LINES),
        ('text/plain; format=flowed; charset="utf-7"', "text/plain", "utf-7", None),
        ("text/plain; xcharset=utf-7", "text/plain", "", None),
        ("", "", "", None),
    ],
)
def test_types(content_type: str, media_type: str, charset: str, stream: StreamKind | None) -> None:
    head = _head(f"Content-Type: {content_type}")
    assert (head.media_type, head.charset, head.stream) == (media_type, charset, stream)


def test_two_types_are_neither() -> None:
    """Whoever reads the second takes the body for something else, so neither makes a stream."""
    assert _head("Content-Type: text/event-stream", "Content-Type: text/plain").stream is None
