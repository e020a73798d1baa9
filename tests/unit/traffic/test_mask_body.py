"""What of a body may be kept."""

import base64
import gzip
import json
import zlib

import brotli
import pytest
import zstandard

from headgate.kernel.secrets import MASK
from headgate.traffic.mask_body import DECODED_MAX_BYTES, MaskedBody, mask_body

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
CARD = "4111 1111 1111 1111"
MAIL = "eva.muster@example.com"


def masked(body: bytes, content_type: str = "text/plain", coding: str = "", *, size: int | None = None) -> MaskedBody:
    return mask_body(body, len(body) if size is None else size, content_type=content_type, content_coding=coding)


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (f"mail {MAIL} now", "text/plain", f"mail {MASK} now"),
        (f"key {TOKEN}", "text/plain", f"key {MASK}"),
        ('{ "password": "correct horse battery", "n": 1 }', "application/json", f'{{"n":1,"password":"{MASK}"}}'),
        (f'{{"a": ["{CARD}"], "b": "plain"}}', "application/json", f'{{"a":["{MASK}"],"b":"plain"}}'),
        (f'{{"{TOKEN}": 1}}', "application/json", None),
        ("user=eva&password=abc&q=1", "application/x-www-form-urlencoded", f"user=eva&password={MASK}&q=1"),
        ("client%5Fsecret=x", "application/x-www-form-urlencoded", f"client%5Fsecret={MASK}"),
        (
            f'event: a\ndata: {{"password":"a b c","t":"{CARD}"}}\n\ndata: to {MAIL}\n\n',
            "text/event-stream",
            f'event: a\ndata: {{"password":"{MASK}","t":"{MASK}"}}\n\ndata: to {MASK}\n\n',
        ),
        ('{"password":"a b"}\n{"q":1}\n', "application/x-ndjson", f'{{"password":"{MASK}"}}\n{{"q":1}}\n'),
        ("nothing to hide", "text/plain", "nothing to hide"),
        ("", "text/plain", ""),
    ],
)
def test_secrets_and_personal_data_are_gone_and_the_rest_is_there(body: str, content_type: str, expected) -> None:
    kept = masked(body.encode(), content_type)
    assert kept.text is not None
    for secret in (TOKEN, CARD, MAIL, "correct horse"):
        assert secret not in kept.text
    if expected is not None:
        assert kept.text == expected
    assert (kept.masked > 0) == (MASK in kept.text)


def test_what_was_found_is_named() -> None:
    kept = masked(f"{MAIL} {MAIL} {CARD}".encode())
    assert dict(kept.kinds) == {"email": 2, "payment_card": 1}
    assert kept.masked == 3


@pytest.mark.parametrize(
    ("coding", "compress"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("zstd", zstandard.compress)],
)
def test_a_content_coding_is_taken_away_before_anything_is_looked_at(coding: str, compress) -> None:
    kept = masked(compress(json.dumps({"to": MAIL}).encode()), "application/json", coding)
    assert (kept.text, kept.decoded_from, kept.is_whole) == (f'{{"to":"{MASK}"}}', coding, True)


@pytest.mark.parametrize(
    ("coding", "compress"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("zstd", zstandard.compress)],
)
def test_a_bomb_is_decoded_as_far_as_is_kept(coding: str, compress) -> None:
    bomb = compress(b"all work and no play " * 5_000_000)
    kept = masked(bomb, "text/plain", coding)
    assert not kept.is_whole
    assert kept.text is None or len(kept.text) <= DECODED_MAX_BYTES


@pytest.mark.parametrize(
    ("body", "content_type", "coding", "why"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "image/png", "", "not text"),
        (b"a\x00b", "text/plain", "", "not text"),
        (b"\xff\xfe\xfd", "application/octet-stream", "", "not text"),
        (b"text", "text/plain; charset=utf-7", "", "not text"),
        (b"not gzip", "text/plain", "gzip", "in a content coding that cannot be read"),
        (b"text", "text/plain", "gzip, br", "in a content coding that cannot be read"),
        (b"text", "text/plain", "compress", "in a content coding that cannot be read"),
    ],
)
def test_what_cannot_be_looked_at_is_not_kept(body: bytes, content_type: str, coding: str, why: str) -> None:
    kept = masked(body, content_type, coding)
    assert (kept.text, kept.omitted, kept.size_bytes) == (None, why, len(body))


def test_what_the_detectors_do_not_finish_is_not_kept() -> None:
    deep = "x" * 20
    for _ in range(8):
        deep = base64.b64encode(deep.encode()).decode()
    kept = masked(deep.encode())
    assert kept.text is None
    assert kept.omitted is not None
    assert kept.omitted.startswith("not looked at wholly")


def test_half_a_credential_at_the_end_of_a_body_that_was_cut_is_not_kept() -> None:
    body = f'{{"first": "whole", "key": "{TOKEN}'.encode()
    for cut in range(1, len(TOKEN)):
        kept = masked(body[:-cut], "application/json", size=len(body) + 100)
        assert kept.text is not None
        assert not kept.is_whole
        assert "ghp" not in kept.text, kept.text
        assert kept.text.startswith('{"first": "whole"')


def test_a_character_that_was_cut_in_two_is_left_out() -> None:
    body = "größer als äöü".encode()
    assert masked(body[:-1], size=100).text == "größer als"


def test_other_charsets_are_read_as_they_say() -> None:
    assert masked("grüße".encode("latin-1"), "text/plain; charset=ISO-8859-1").text == "grüße"


def test_a_private_key_goes_to_its_end() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n" * 20
    kept = masked(key.encode(), size=10_000)
    assert kept.text is not None
    assert "MIIEvQIBADAN" not in kept.text


def test_a_multipart_form_is_masked_by_the_names_of_its_parts() -> None:
    """RFC 7578, section 4.2: what a log-in or an upload with a key sends."""
    parts = [
        b'Content-Disposition: form-data; name="user"\r\n\r\nada',
        b'Content-Disposition: form-data; name="password"\r\n\r\nhunter2 but\r\n-- longer',
        b"content-disposition: form-data; name=api_key; filename=x\r\nContent-Type: text/plain\r\n\r\nhunter2",
        b"Content-Disposition: form-data; name*=utf-8''client%5Fsecret\n\nhunter2",
    ]
    for boundary in (b"----WebKitFormBoundaryA1", b"x"):
        body = b"".join(b"--" + boundary + b"\r\n" + one + b"\r\n" for one in parts) + b"--" + boundary + b"--\r\n"
        for given in (body, b"preamble\r\n" + body):
            for size in (len(given), len(given) + 1):
                content_type = f"multipart/form-data; boundary={boundary.decode()}"
                shown = mask_body(given, size, content_type=content_type, content_coding="")
                assert shown.text is not None and "hunter2" not in shown.text and "longer" not in shown.text
                assert "ada" in shown.text and shown.text.count(MASK) == 3


def test_an_event_whose_data_is_written_over_lines_is_masked_as_one() -> None:
    """WHATWG HTML, section 9.2.6: lines of data are one text."""
    body = b'event: x\ndata: {"client_secret":\ndata: "hunter2"}\n\ndata: {"a":1}\n\n'
    shown = mask_body(body, len(body), content_type="text/event-stream", content_coding="")
    assert shown.text is not None and "hunter2" not in shown.text
    assert "event: x" in shown.text and 'data: {"a":1}' in shown.text


@pytest.mark.parametrize("said", ["null", "true", "false"])
def test_an_event_that_says_that_there_is_no_token_is_kept_as_it_is(said: str) -> None:
    body = f'data: {{"delta":"a","token":{said}}}\n\n'
    assert masked(body.encode(), "text/event-stream").text == body
