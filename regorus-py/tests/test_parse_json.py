"""parse_json reads what RFC 8259 allows in one way only, and says where it refuses."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from regorus import JsonError, canonical_json, parse_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"null", None),
        (b" \t\r\n true ", True),
        (b"[]", []),
        (b"{}", {}),
        (b'{"a": [1, 2.5, "x", false]}', {"a": [1, 2.5, "x", False]}),
        (b"-0", 0),
        (b"-9223372036854775808", -(2**63)),
        (b"18446744073709551616", 2**64),
        (b"1" * 4300, int("1" * 4300)),
        (b"1e2", 100.0),
        (b"1E+2", 100.0),
        (b"0.1", 0.1),
        (b"1e-400", 0.0),
        (b'"\\u0000"', "\0"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        ('"é\U0001f600"'.encode(), "é\U0001f600"),
        (b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'),
        (b"[" * 127 + b"]" * 127, json.loads("[" * 127 + "]" * 127)),
    ],
)
def test_reads(text: bytes, value: object) -> None:
    parsed = parse_json(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        (b"", "line 1 column 1 (byte 0)", "ends"),
        (b"1 2", "(byte 2)", "after the value"),
        (b'{"a": 1,\n "a": 2}', "line 2 column 2 (byte 10)", 'duplicate key "a"'),
        (b'{"a": 1, "\\u0061": 2}', "(byte 9)", "duplicate key"),
        (b'["\\ud800"]', "(byte 2)", "lone surrogate"),
        (b'"\\udc00\\ud800"', "(byte 1)", "lone surrogate"),
        (b'"\\ud800\\n"', "(byte 1)", "lone surrogate"),
        (b"[1, 1e400]", "(byte 4)", "too large"),
        (b"1" * 4301, "(byte 0)", "4300 digits"),
        (b'"\xff"', "(byte 1)", "UTF-8"),
        (b'"\xed\xa0\x80"', "(byte 1)", "UTF-8"),
        (b"\xef\xbb\xbf1", "(byte 0)", "expected a value"),
        (b"[" * 128 + b"]" * 128, "(byte 127)", "127 deep"),
        (b"01", "(byte 0)", "needless zero"),
        (b"-", "(byte 1)", "digit"),
        (b"1.", "(byte 2)", "digit"),
        (b".5", "(byte 0)", "expected a value"),
        (b"+1", "(byte 0)", "expected a value"),
        (b"1e", "(byte 2)", "digit"),
        (b"NaN", "(byte 0)", "expected a value"),
        (b"Infinity", "(byte 0)", "expected a value"),
        (b"[1,]", "(byte 3)", "expected a value"),
        (b"[1", "(byte 2)", "the end of the text"),
        (b'{"a"}', "(byte 4)", "colon"),
        (b"{a: 1}", "(byte 1)", "key"),
        (b"{'a': 1}", "(byte 1)", "key"),
        (b'"a\nb"', "(byte 2)", "control character"),
        (b'"a\x00b"', "(byte 2)", "control character"),
        (b'"\\x"', "(byte 1)", "escape"),
        (b'"\\u12g4"', "(byte 1)", "four hexadecimal digits"),
        (b'"abc', "(byte 0)", "without an end"),
        (b"// comment\n1", "(byte 0)", "expected a value"),
        (b"1 // comment", "(byte 2)", "after the value"),
        ('["é", x]'.encode(), "line 1 column 7 (byte 7)", "expected a value"),
        (b"truth", "(byte 0)", "expected a value"),
    ],
)
def test_refuses(text: bytes, place: str, what: str) -> None:
    with pytest.raises(JsonError) as caught:
        parse_json(text)
    assert place in str(caught.value)
    assert what in str(caught.value)


def test_ten_thousand_brackets_are_an_error_and_no_crash() -> None:
    with pytest.raises(JsonError, match="127 deep"):
        parse_json(b"[" * 10_000 + b"]" * 10_000)


def test_half_a_million_values_are_enough() -> None:
    assert len(parse_json(b"[" + b"1," * 499_998 + b"1]")) == 499_999
    with pytest.raises(JsonError, match="more than 500000 values"):
        parse_json(b"[" + b"[]," * 499_999 + b"[]]")


def test_takes_bytes_only() -> None:
    with pytest.raises(TypeError):
        parse_json("1")  # type: ignore[arg-type]  # a caller without types


@given(JSON)
def test_reads_what_the_standard_library_writes(value: object) -> None:
    assert parse_json(json.dumps(value).encode()) == value
    assert parse_json(json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")) == value


@given(JSON)
def test_reads_its_own_canonical_form(value: object) -> None:
    text = canonical_json(value)
    assert canonical_json(parse_json(text)) == text


@given(st.binary(max_size=40))
def test_agrees_with_the_standard_library_on_what_is_json(text: bytes) -> None:
    try:
        parsed = parse_json(text)
    except JsonError:
        return
    expected = json.loads(text)
    assert parsed == expected or (isinstance(parsed, float) and math.isclose(parsed, expected))
