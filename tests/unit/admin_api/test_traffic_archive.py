"""HTTP archives that other programs read: each member that HAR 1.2 demands, of the type that it demands."""

from datetime import UTC, datetime
from typing import Any

import pytest

from admin_api.services.traffic_review import for_review
from admin_api.traffic.archive import archive_of
from headgate.traffic.mask_exchange import mask_exchange
from headgate.traffic.model import CaptureLevel, Message
from headgate.traffic.sealed_exchange import seal_exchange
from tests.unit.traffic.samples import sample, vault_in

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(200))
DEMANDED: dict[str, dict[str, type | tuple[type, ...]]] = {
    "entry": {"startedDateTime": str, "time": (int, float), "request": dict, "response": dict, "timings": dict},
    "request": {
        "method": str, "url": str, "httpVersion": str, "cookies": list, "headers": list, "queryString": list,
        "headersSize": int, "bodySize": int,
    },
    "response": {
        "status": int, "statusText": str, "httpVersion": str, "cookies": list, "headers": list, "content": dict,
        "redirectURL": str, "headersSize": int, "bodySize": int,
    },
    "content": {"size": int, "mimeType": str},
    "cookie": {"name": str, "value": str},
}  # fmt: skip
"""http://www.softwareishard.com/blog/har-12-spec/: what is not optional."""


@pytest.fixture
def entry_of(tmp_path: Any) -> Any:
    vault = vault_in(tmp_path)

    def make(**changes: Any) -> dict[str, Any]:
        captured = sample(created_at=datetime(2026, 11, 21, tzinfo=UTC), **changes)
        masked = mask_exchange(captured)
        made = archive_of([dict(for_review(seal_exchange(captured, masked, vault), masked.document))])
        assert made["log"]["version"] == "1.2"
        assert made["log"]["creator"]["version"]
        (entry,) = made["log"]["entries"]
        return dict(entry)

    return make


def answer(body: bytes | None, size: int, *headers: tuple[bytes, bytes]) -> Message:
    return Message(headers, body, size, "HTTP/1.1", 10.1, 10.2)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"response": None, "status": None, "error": "connection closed"},
        {"response": answer(PICTURE, len(PICTURE), (b"content-type", b"image/png"))},
        {"response": answer(b"", 0, (b"Set-Cookie", b"session=abcdef123456; Path=/"))},
        {"response": answer(b"begin", 500_000, (b"content-type", b"text/plain"))},
        {"request": Message(((b"Cookie", b"a=b; c"),), None, 2_000, "HTTP/2.0", 10.0, 10.1)},
    ],
    ids=["plain", "no-answer", "picture", "cookie", "beginning", "heads-only"],
)
def test_every_member_is_there(entry_of: Any, changes: dict[str, Any]) -> None:
    entry = entry_of(**changes)
    request, response = entry["request"], entry["response"]
    objects = [("entry", entry), ("request", request), ("response", response), ("content", response["content"])]
    objects += [("cookie", one) for one in (*request["cookies"], *response["cookies"])]
    for kind, found in objects:
        for name, wanted in DEMANDED[kind].items():
            assert isinstance(found[name], wanted), (kind, name, found)


def test_sizes_are_those_of_the_wire_and_what_was_not_kept_is_said(entry_of: Any) -> None:
    picture = entry_of(response=answer(PICTURE, len(PICTURE), (b"content-type", b"image/png")))["response"]
    assert (picture["bodySize"], picture["content"]["size"]) == (len(PICTURE), len(PICTURE))
    assert "text" not in picture["content"], "an empty text would be an empty body"
    assert picture["content"]["comment"] == "not captured: not text"
    beginning = entry_of(response=answer(b"begin \xe2\x82\xac no", 500_000, (b"content-type", b"text/plain")))
    assert beginning["response"]["bodySize"] == 500_000
    assert beginning["response"]["content"]["comment"] == "not captured: only its beginning"
    heads = Message((), None, 2_000, "HTTP/1.1", 10.0, 10.1)
    sent = entry_of(request=heads, level=CaptureLevel.HEADS)["request"]
    assert (sent["bodySize"], sent["postData"]["comment"]) == (2_000, "not captured: heads only")


def test_an_answer_to_head_keeps_the_length_that_was_asked_for(entry_of: Any) -> None:
    entry = entry_of(
        method="HEAD", response=answer(b"", 0, (b"Content-Length", b"78"), (b"Content-Type", b"text/html"))
    )
    lengths = [one["value"] for one in entry["response"]["headers"] if one["name"].lower() == "content-length"]
    assert (lengths, entry["response"]["bodySize"]) == (["78"], 0)
