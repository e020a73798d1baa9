"""The page of a request says what it does not show."""

import pytest

from admin_api.web.unshown import unshown_of
from headgate.kernel.canonical_json import JsonObject
from headgate.protocols.body import TEXT_BYTES_MAX, read_body

_FORM = (
    b'--x\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n'
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: image/png\r\n\r\n123'
    b"\r\n--x--\r\n"
)


def shown(body: bytes, content_type: str, encoding: str | None = None) -> list[str]:
    read = read_body(body, content_type, encoding)
    http: JsonObject = {"body_kind": read.kind.value, "body_size": read.size}
    return unshown_of({"body": read.value}, http)


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "said"),
    [
        (b'{"amount": 1}', "application/json", None, []),
        (b"hello", "text/plain", None, []),
        (b"a=1&b=2", "application/x-www-form-urlencoded", None, []),
        (
            b"\0" * 3000,
            "application/octet-stream",
            None,
            ["it is not text: 3,000 bytes of application/octet"],
        ),
        (b"x" * (TEXT_BYTES_MAX + 1), "text/plain", None, ["because it is too large: 65,537 bytes of text/plain"]),
        (b"x", "text/plain", "br-odd", ["because Headgate does not read its encoding: 1 byte of text/plain"]),
        (b"\xff", "text/plain; charset=koi8-r", None, ["because Headgate does not read its character set"]),
        (_FORM, "multipart/form-data; boundary=x", None, ["of the file a.bin is not shown here: 3 bytes of image/png"]),
    ],
)
def test_a_body_that_is_a_digest_only_is_named(body, content_type, encoding, said) -> None:
    found = shown(body, content_type, encoding)
    assert len(found) == len(said)
    assert all(words in one for one, words in zip(found, said, strict=True)), found


def test_an_explicit_action_is_shown_whole() -> None:
    assert unshown_of({"body": {"sha256": "00", "size": 1}}, None) == []
