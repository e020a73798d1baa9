"""Replacing what was found in the values of forms: in place, or not at all."""

import re
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.gate.masked_body import masked_body
from headgate.policies.model import FoundText

_FORM = (b"Content-Type", b"application/x-www-form-urlencoded; charset=UTF-8")
_PARTS = (b"Content-Type", b"multipart/form-data; boundary=b0")
_MAIL = "maria.keller@example.com"
_MASK = "[masked: email]"


def _found(text: str, *path: str | int) -> list[FoundText]:
    return [FoundText(("body", *path), one.start(), one.end(), "email") for one in re.finditer(re.escape(_MAIL), text)]


def test_a_value_of_a_form_is_replaced_and_all_else_stays_byte_by_byte() -> None:
    body = "To=%2b1+555&Body=h%c3%BC+maria.keller%40example.com!&x&Body=maria.keller@example.com&=&"
    found = [*_found(f"hü {_MAIL}!", "Body", 0), *_found(_MAIL, "Body", 1)]
    made = masked_body([_FORM], "", body.encode(), found)

    assert made is not None
    mask = quote_plus(_MASK)
    assert made.body.decode() == f"To=%2b1+555&Body=h%c3%BC+{mask}!&x&Body={mask}&=&"
    assert (made.count, made.kinds) == (2, ("email",))


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("a=maria.keller@example.com", _found(_MAIL, "a", 1)),
        ("a=maria.keller@example.com", _found(_MAIL, "b", 0)),
        ("a=maria.keller@example.com", _found(_MAIL)),
        ("maria.keller@example.com=a", _found(_MAIL)),
        ("a=maria.keller@example.com&Signature=x", _found(_MAIL, "a", 0)),
        ("a=maria.keller@example.com&sig=x", _found(_MAIL, "a", 0)),
        ("a=maria.keller@example.com&hmac=x", _found(_MAIL, "a", 0)),
    ],
)
def test_what_is_no_value_or_is_signed_is_not_replaced(body: str, found: list[FoundText]) -> None:
    assert masked_body([_FORM], "", body.encode(), found) is None


_NAMES = st.sampled_from(["a", "b", "ü c"])
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)


@given(st.lists(st.tuples(_NAMES, _TEXTS), min_size=1, max_size=5), st.data(), st.sampled_from([quote, quote_plus]))
def test_any_stretch_of_any_value_can_be_replaced(pairs: list[tuple[str, str]], data: st.DataObject, code: Any) -> None:
    number = data.draw(st.integers(0, len(pairs) - 1))
    name, text = pairs[number]
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    body = "&".join(f"{code(one)}={code(other)}" for one, other in pairs)
    place = sum(one == name for one, _ in pairs[:number])
    made = masked_body([_FORM], "", body.encode(), [FoundText(("body", name, place), start, end, "email")])

    assert made is not None
    pairs[number] = (name, text[:start] + _MASK + text[end:])
    assert parse_qsl(made.body.decode(), keep_blank_values=True) == pairs


def _multipart(*parts: bytes, end: bytes = b"\r\n") -> bytes:
    return b"".join(b"--b0\r\n" + part + b"\r\n" for part in parts) + b"--b0--" + end


_TEXT_PART = b'Content-Disposition: form-data; name="t"\r\n\r\nto MAIL, \xc3\xbc'.replace(b"MAIL", _MAIL.encode())
_FILE_PART = (
    b'Content-Disposition: form-data; name="f"; filename="f.json"\r\nContent-Type: application/json\r\n\r\n'
    b'{"a": [1, "MAIL"] }'
).replace(b"MAIL", _MAIL.encode())
_BINARY_PART = b'Content-Disposition: form-data; name="i"; filename="i.png"\r\n\r\n' + bytes(range(256))


@pytest.mark.parametrize("end", [b"\r\n", b""])
def test_texts_of_parts_are_replaced_beside_binary_ones(end: bytes) -> None:
    body = _multipart(_TEXT_PART, _BINARY_PART, _FILE_PART, end=end)
    found = [*_found(f"to {_MAIL}, ü", 0, "content"), *_found(_MAIL, 2, "content", "a", 1)]
    made = masked_body([_PARTS], "", body, found)

    assert made is not None
    assert made.body == body.replace(_MAIL.encode(), _MASK.encode())
    read = BytesParser(policy=HTTP).parsebytes(b"Content-Type: multipart/form-data; boundary=b0\r\n\r\n" + made.body)
    assert read.get_payload(1).get_payload(decode=True) == bytes(range(256))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("part", "path"),
    [
        (_TEXT_PART, (0, "head")),
        (_TEXT_PART, (1, "content")),
        (_TEXT_PART, ()),
        (_TEXT_PART.replace(b"\r\n\r\n", b"\r\nContent-Length: 31\r\n\r\n"), (0, "content")),
        (_TEXT_PART.replace(b"\r\n\r\n", b"\r\nContent-MD5: x\r\n\r\n"), (0, "content")),
        (_TEXT_PART.replace(b"\r\n\r\n", b"\r\nContent-Type: text/plain; charset=utf-16\r\n\r\n"), (0, "content")),
        (_TEXT_PART.replace(b"\r\n\r\n", b"\r\nContent-Type: application/http\r\n\r\n"), (0, "content")),
        (_TEXT_PART.replace(b"\xc3\xbc", b"\xfc"), (0, "content")),
        (_TEXT_PART.replace(b'"t"', b'"x-amz-signature"'), (0, "content")),
    ],
)
def test_a_part_of_which_something_else_is_said_is_not_replaced(part: bytes, path: tuple[str | int, ...]) -> None:
    assert masked_body([_PARTS], "", _multipart(part), _found(f"to {_MAIL}, ü", *path)) is None


@pytest.mark.parametrize(("label", "sent"), [(b"", b"[masked: card]"), (b"application/json", b'"[masked: card]"')])
def test_a_number_is_a_text_where_no_head_calls_it_json(label: bytes, sent: bytes) -> None:
    head = b'Content-Disposition: form-data; name="t"' + (b"\r\nContent-Type: " + label if label else b"")
    found = [FoundText(("body", 0, "content"), 0, 16, "card")]
    made = masked_body([_PARTS], "", _multipart(head + b"\r\n\r\n4111111111111111"), found)
    assert made is not None
    assert made.body == _multipart(head + b"\r\n\r\n" + sent)


def test_a_charset_with_a_space_before_it_is_read() -> None:
    head = b'Content-Disposition: form-data; name="t"\r\nContent-Type: text/plain; charset= utf-8'
    made = masked_body([_PARTS], "", _multipart(head + b"\r\n\r\n" + _MAIL.encode()), _found(_MAIL, 0, "content"))
    assert made is not None


def test_a_body_that_is_not_of_parts_is_not_replaced() -> None:
    assert masked_body([_PARTS], "", _TEXT_PART, _found(f"to {_MAIL}", 0, "content")) is None
