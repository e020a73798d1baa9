"""Tokens in hexadecimal and base64: which are taken for encoded, and what bytes are."""

import base64

import pytest
from regorus import as_text, container_of, encoded_tokens, from_base64, from_hexadecimal

_TEXT = b"the password is hunter2?>"
_BASE64 = base64.b64encode(_TEXT)


@pytest.mark.parametrize(
    ("token", "base"),
    [
        (_BASE64, "base64"),
        (_BASE64.rstrip(b"="), "base64"),
        (base64.urlsafe_b64encode(_TEXT), "base64"),
        (_BASE64[:20] + b"\r\n  " + _BASE64[20:], "base64"),
        (_TEXT.hex().encode(), "hex"),
        (_TEXT.hex().upper().encode(), "hex"),
        (b"0x" + _TEXT.hex().encode(), "hex"),
    ],
)
def test_a_token_that_encodes_a_text(token: bytes, base: str) -> None:
    assert encoded_tokens(b"(" + token + b")") == [(1, 1 + len(token), base, _TEXT)]


def test_a_part_of_a_path_may_be_encoded() -> None:
    part = base64.b64encode(b"the password is hunter2!")
    assert encoded_tokens(b"files/" + part) == [(6, 38, "base64", b"the password is hunter2!")]


@pytest.mark.parametrize(
    "token",
    [b"a" * 40, b"QUJDRA", b"some/path/of_words-in/lower", b"UPPER_CASE_WORDS", b"camelCaseNameOfAThing", b"0" * 32],
)
def test_words_and_numbers_encode_nothing(token: bytes) -> None:
    assert encoded_tokens(token) == []


def test_a_container_in_base64() -> None:
    packed = b"PK\x03\x04" + bytes(range(128, 160))
    assert encoded_tokens(base64.b64encode(packed)) == [(0, 48, "base64", packed)]


@pytest.mark.parametrize(
    ("token", "data"),
    [
        (b"QUI=", b"AB"),
        (b"QUI", b"AB"),
        (b"Q U\r\nI = \n", b"AB"),
        (b"-_-_", b"\xfb\xff\xbf"),
        (b"", b""),
        (b"QUJDR", None),
        (b"QU=I", None),
        (b"QU.I", None),
    ],
)
def test_base64(token: bytes, data: bytes | None) -> None:
    assert from_base64(token) == data


@pytest.mark.parametrize(("token", "data"), [(b"0X4a", b"J"), (b"4A", b"J"), (b"4", None), (b"4g", None)])
def test_hexadecimal(token: bytes, data: bytes | None) -> None:
    assert from_hexadecimal(token) == data


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("é\t\n\r\x1b".encode(), "é\t\n\r\x1b"),
        ("abcd".encode("utf-16-le"), "abcd"),
        ("abcd".encode("utf-16-be"), "abcd"),
        (b"a" * 49 + b"\x01", "a" * 49 + "\x01"),
        (b"a" * 48 + b"\x01", None),
        (b"\xff", None),
        (b"a\0\0\xd8a\0", None),
        (b"", None),
    ],
)
def test_what_is_text(data: bytes, text: str | None) -> None:
    assert as_text(data) == text


@pytest.mark.parametrize(
    ("data", "name"),
    [(b"\x1f\x8b", "gzip"), (b"x\x9c", "zlib"), (b"\0" * 257 + b"ustar", "tar"), (b"PK", None), (b"", None)],
)
def test_containers_by_their_first_bytes(data: bytes, name: str | None) -> None:
    assert container_of(data) == name
