"""A whole exchange as it may be kept."""

import json

from msgspec.structs import replace

from headgate.kernel.secrets import MASK
from headgate.traffic.mask_exchange import ERROR_MAX, TARGET_MAX, mask_exchange
from headgate.traffic.model import CaptureLevel, Message
from tests.unit.traffic.samples import sample

MAIL = "eva.muster@example.com"
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def message(*headers: tuple[bytes, bytes], body: bytes | None = b"") -> Message:
    return Message(headers, body, 0 if body is None else len(body), "HTTP/1.1", 1.0, 2.0)


def test_credentials_are_gone_wherever_they_stand() -> None:
    captured = sample(
        path=f"/users/{MAIL}?access_token=abc&next={TOKEN}",
        error=f"refused for {MAIL}",
        request=message(
            (b"Authorization", b"Bearer short"),
            (b"Cookie", b"session=1"),
            (b"X-Custom-Secret", b"anything at all"),
            (b"X-Note", f"call {MAIL}".encode()),
            (b"Referer", f"https://a.example/?password=hunter22&k={TOKEN}".encode()),
            (TOKEN.encode(), b"a name that is one"),
        ),
        response=message((b"Set-Cookie", b"id=secret; Path=/"), (b"X-Request-Id", b"req-1"), body=MAIL.encode()),
    )
    masked = mask_exchange(captured)
    text = json.dumps([masked.document, masked.target, masked.error, masked.masking, masked.omitted])
    for secret in (MAIL, TOKEN, "short", "session=1", "hunter22", "anything at all", "id=secret", "abc"):
        assert secret not in text, secret
    request, response = masked.document["request"], masked.document["response"]
    assert isinstance(request, dict)
    assert isinstance(response, dict)
    assert ["X-Note", f"call {MASK}"] in request["headers"]
    assert len(request["headers"]) == 6
    assert ["X-Request-Id", "req-1"] in response["headers"]
    assert set(masked.masking) == {
        "request.target",
        "request.headers",
        "response.headers",
        "response.body",
    }
    assert masked.masking["response.body"] == {"places": 1, "kinds": {"email": 1}}


def test_what_needs_no_mask_is_as_it_was() -> None:
    captured = sample(path="/a/b?c=d", request=message((b"X-Note", b"plain")), response=message(body=b"plain"))
    masked = mask_exchange(captured)
    assert (masked.target, masked.error, masked.masking, masked.omitted) == ("/a/b?c=d", None, {}, {})


def test_what_is_long_is_cut_beside_and_whole_within() -> None:
    captured = sample(path="/" + "a/" * 3000, error="x" * 2000, request=message(), response=None)
    masked = mask_exchange(captured)
    assert len(masked.target) == TARGET_MAX
    assert len(masked.error or "") == ERROR_MAX
    request = masked.document["request"]
    assert isinstance(request, dict)
    assert request["path"] == captured.path
    assert masked.document["response"] is None


def test_heads_only_says_so() -> None:
    body_of_five = replace(message(body=None), size_bytes=5)
    of_heads = sample(request=body_of_five, response=message(body=None), level=CaptureLevel.HEADS)
    assert mask_exchange(of_heads).omitted == {"request.body": "heads only"}
    withheld = mask_exchange(replace(of_heads, level=CaptureLevel.BODIES))
    assert withheld.omitted == {"request.body": "a content policy masks it, and no masked copy was kept"}


def test_bytes_that_are_no_text_in_a_head_are_kept_as_characters() -> None:
    masked = mask_exchange(sample(path="/\xff", request=message((b"X-\xe4", b"\xff\x00")), response=None))
    assert json.dumps(masked.document)
    assert "\0" not in masked.target
