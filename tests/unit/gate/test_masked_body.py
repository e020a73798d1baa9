"""Replacing what was found in a body: in place, or not at all."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.gate.masked_body import masked_body
from headgate.policies.model import FoundText

_JSON = (b"Content-Type", b"application/json")
_MAIL = "maria.keller@example.com"


def _at(text: str, *path: str | int, found: str = _MAIL, kind: str = "email") -> FoundText:
    start = text.index(found)
    return FoundText(("body", *path), start, start + len(found), kind)


def test_a_text_in_json_is_replaced_and_all_else_stays_byte_by_byte() -> None:
    text = '{ "n" : 1.50, "to": ["x", "write to MAIL, ü"],  "big": 12345678901234567890}'
    body = text.replace("MAIL", _MAIL).encode()
    made = masked_body([_JSON], "", body, [_at(f"write to {_MAIL}, ü", "to", 1)])

    assert made is not None
    assert made.body == body.replace(_MAIL.encode(), b"[masked: email]")
    assert (made.count, made.kinds) == (1, ("email",))


def test_escapes_beside_it_are_counted() -> None:
    text = f'a "quoted" \U0001f600\n{_MAIL} \\ end'
    for body in (json.dumps({"t": text}), json.dumps({"t": text}, ensure_ascii=False)):
        made = masked_body([_JSON], "", body.encode(), [_at(text, "t")])
        assert made is not None
        assert json.loads(made.body) == {"t": text.replace(_MAIL, "[masked: email]")}


def test_escapes_within_it_are_replaced_with_it() -> None:
    body = '{"t": "maria\\u002ekeller@example.com!"}'
    made = masked_body([_JSON], "", body.encode(), [_at(f"{_MAIL}!", "t")])

    assert made is not None
    assert made.body == b'{"t": "[masked: email]!"}'


def test_a_number_becomes_a_text() -> None:
    found = FoundText(("body", "card"), 0, 16, "payment_card")
    made = masked_body([_JSON], "", b'{"card": 4111111111111111}', [found])

    assert made is not None
    assert made.body == b'{"card": "[masked: payment_card]"}'


@pytest.mark.parametrize(
    ("label", "sent"), [(b"text/plain", b"[masked: payment_card]"), (b"application/json", b'"[masked: payment_card]"')]
)
def test_a_number_alone_is_json_where_it_is_labelled_so(label: bytes, sent: bytes) -> None:
    found = [FoundText(("body",), 0, 16, "payment_card")]
    made = masked_body([(b"Content-Type", label)], "", b"4111111111111111", found)
    assert made is not None
    assert made.body == sent


def test_what_overlaps_is_replaced_once() -> None:
    spans = ((0, 6, "email"), (4, 9, "keyword"), (9, 10, "x"))
    found = [FoundText(("body",), *one) for one in spans]
    made = masked_body([], "", b"abcdefghij!", found)

    assert made is not None
    assert (made.body, made.count) == (b"[masked: email][masked: x]!", 2)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_each_line_of_json_is_a_document(end: str) -> None:
    lines = ['{"n" : 1}', '{"t": "say \\"MAIL\\", \\u00fc MAIL", "n":2}', "", '["MAIL"]', '"MAIL"', ""]
    text = end.join(lines).replace("MAIL", _MAIL)
    found = [FoundText(("body",), one.start(), one.end(), "email") for one in re.finditer(re.escape(_MAIL), text)]
    made = masked_body([(b"Content-Type", b"application/x-ndjson")], "", text.encode(), found)

    assert made is not None
    assert made.body.decode() == text.replace(_MAIL, "[masked: email]")
    assert made.count == 4


def test_a_number_on_a_line_becomes_a_text_and_an_escape_is_replaced_whole() -> None:
    text = '{"card": 4111111111111111}\n{"t": "\\nmaria@x"}\n'
    found = [FoundText(("body",), 9, 25, "payment_card"), FoundText(("body",), 35, 41, "email")]
    made = masked_body([], "", text.encode(), found)

    assert text[35:41] == "nmaria"
    assert made is not None
    assert made.body == b'{"card": "[masked: payment_card]"}\n{"t": "[masked: email]@x"}\n'


@pytest.mark.parametrize(
    ("fields", "query"),
    [
        ([(b"Content-Encoding", b"gzip")], ""),
        ([(b"Content-Type", b"multipart/form-data; boundary=b")], ""),
        ([(b"Content-Type", b"multipart/mixed; boundary=b")], ""),
        ([(b"Content-Type", b"application/x-www-form-urlencoded")], ""),
        ([(b"Content-Type", b"text/plain; charset=utf-16le")], ""),
        ([(b"Content-Type", b"application/grpc")], ""),
        ([(b"Content-Type", b"text/event-stream")], ""),
        ([(b"Authorization", b"AWS4-HMAC-SHA256 Credential=x")], ""),
        ([(b"Authorization", b"Signature keyId=1")], ""),
        ([(b"X-Amz-Content-Sha256", b"UNSIGNED-PAYLOAD")], ""),
        ([(b"Content-Digest", b"sha-256=:x:")], ""),
        ([(b"Digest", b"sha-256=x")], ""),
        ([(b"Content-MD5", b"x")], ""),
        ([(b"Signature-Input", b"x")], ""),
        ([(b"Trailer", b"Content-Digest")], ""),
        ([(b"Stripe-Signature", b"t=1")], ""),
        ([(b"X-Hub-Signature-256", b"sha256=1")], ""),
        ([], "X-Amz-Signature=1"),
        ([], "a=1&sig=2"),
    ],
)
def test_what_is_coded_or_signed_is_not_replaced(fields: list[tuple[bytes, bytes]], query: str) -> None:
    assert masked_body(fields, query, _MAIL.encode(), [_at(_MAIL)]) is None


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (_MAIL.encode(), FoundText(("http", "query", "q"), 0, 5, "email")),
        (b'{"a": "x"}', FoundText(("body", "b"), 0, 1, "email")),
        (b'{"n": 12345}\n{"n": 1,}', FoundText(("body",), 6, 11, "email")),
        (b'{"n": 12345}\n{"n": 1}', FoundText(("body",), 6, 14, "email")),
        (b'{"n": 12345}\n{"n": 1}', FoundText(("body",), 0, 8, "email")),
        (b'{"n": 12345}\n{"n": 1}', FoundText(("body",), 2, 3, "email")),
        (b'{"n": "x-end"}\n\n{"n": 1}', FoundText(("body",), 7, 16, "email")),
        (b'{"n": ["a", "b"]}\n{"n": 1}', FoundText(("body",), 8, 13, "email")),
        (b'{"a": {"b": "x"}}', FoundText(("body", "a"), 0, 1, "email")),
        (b"text", FoundText(("body", "a"), 0, 1, "email")),
        (b"\xff\xfe" + _MAIL.encode("utf-16le"), FoundText(("body",), 0, 5, "email")),
        (bytes(range(256)), FoundText(("body",), 0, 5, "email")),
    ],
)
def test_what_does_not_stand_in_the_body_is_not_replaced(body: bytes, found: FoundText) -> None:
    assert masked_body([], "", body, [found]) is None


_LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53)
_VALUES = st.recursive(
    _LEAVES | st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=9,
)


def _texts(value: Any, *path: str | int) -> list[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        return [(path, value)]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [one for name, inner in items for one in _texts(inner, *path, name)]


def _without(value: Any, *path: str | int, at: tuple[str | int, ...], span: tuple[int, int]) -> Any:
    if path == at:
        return f"{value[: span[0]]}[masked: email]{value[span[1] :]}"
    if isinstance(value, dict):
        return {name: _without(inner, *path, name, at=at, span=span) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, *path, number, at=at, span=span) for number, inner in enumerate(value)]
    return value


@given(_VALUES, st.data(), st.booleans(), st.none() | st.integers(0, 3))
def test_any_text_of_any_document_can_be_replaced(
    value: Any, data: st.DataObject, is_ascii: bool, indent: int | None
) -> None:
    texts = [one for one in _texts({"v": value}) if one[1]]
    if not texts:
        return
    path, text = data.draw(st.sampled_from(texts))
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    body = json.dumps({"v": value}, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "surrogatepass")
    try:
        body.decode()
    except UnicodeDecodeError:
        return
    made = masked_body([_JSON], "", body, [FoundText(("body", *path), start, end, "email")])

    if made is not None:  # else the document's text has a control character, or a name twice
        assert json.loads(made.body) == _without({"v": value}, at=path, span=(start, end))


@given(st.lists(st.dictionaries(st.text(max_size=4), _VALUES, max_size=3), min_size=2, max_size=4), st.data())
def test_any_stretch_of_lines_of_json_leaves_lines_of_json(rows: list[Any], data: st.DataObject) -> None:
    text = "\n".join(json.dumps(one) for one in rows)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    made = masked_body([], "", text.encode(), [FoundText(("body",), start, end, "email")])

    if made is not None:
        before, after = text.split("\n"), made.body.decode().split("\n")
        assert [json.loads(one) for one in after]
        assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
        masks = [one for _, one in _texts([json.loads(line) for line in after]) if "[masked: email]" in one]
        assert len(masks) == 1
