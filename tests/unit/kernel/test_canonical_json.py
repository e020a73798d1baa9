"""Canonical JSON: RFC 8785, with integers exact."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonValue, canonical_bytes, parse_strict, sha256_hex
from headgate.kernel.errors import ValidationError

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_EXACT_LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | _TEXT


def _values_of(leaves: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_TEXT, inner, max_size=5), max_leaves=20
    )


EXACT_VALUES = _values_of(_EXACT_LEAVES)
VALUES = _values_of(_EXACT_LEAVES | st.floats(allow_nan=False, allow_infinity=False))


@given(VALUES)
def test_the_canonical_form_reads_back_and_is_its_own_canonical_form(value: JsonValue) -> None:
    once = canonical_bytes(value)
    assert canonical_bytes(parse_strict(once)) == once


@given(EXACT_VALUES)
def test_nothing_is_lost(value: JsonValue) -> None:
    assert parse_strict(canonical_bytes(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_written_in_the_shortest_form_that_reads_back(value: float) -> None:
    """A large integral one is written as an integer (ECMAScript), which is exact as a double only."""
    read = parse_strict(canonical_bytes(value))
    assert isinstance(read, int | float)
    assert float(read) == value


@given(VALUES)
def test_another_way_to_write_it_has_the_same_canonical_form(value: JsonValue) -> None:
    spaced = json.dumps(value, indent=2, ensure_ascii=True).encode()
    assert canonical_bytes(parse_strict(spaced)) == canonical_bytes(value)


@given(st.dictionaries(_TEXT, st.integers(0, 9), max_size=8))
def test_members_are_sorted_by_utf_16(members: dict[str, int]) -> None:
    read = json.loads(canonical_bytes(members))
    assert list(read) == sorted(members, key=lambda name: name.encode("utf-16-be"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # RFC 8785, appendix B, and section 3.2.2.3.
        (0.0, b"0"),
        (-0.0, b"0"),
        (5e-324, b"5e-324"),
        (1.7976931348623157e308, b"1.7976931348623157e+308"),
        (9007199254740992.0, b"9007199254740992"),
        (1e21, b"1e+21"),
        (1e20, b"100000000000000000000"),
        (1e-6, b"0.000001"),
        (1e-7, b"1e-7"),
        (333333333.3333332, b"333333333.3333332"),
        # Ours: integers are exact, where a double would round them.
        (9007199254740993, b"9007199254740993"),
        (18446744073709551615, b"18446744073709551615"),
        (-9223372036854775808, b"-9223372036854775808"),
        ("€$\x0f\nA'B\"\\\\\"/", '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'.encode()),
        ("\x00\x7f\u2028", '"\\u0000\x7f\u2028"'.encode()),
        ({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\xf6": 7},
         '{"\\r":2,"1":4,"\x80":6,"\xf6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'.encode()),
        ([], b"[]"),
        ({}, b"{}"),
    ],
)  # fmt: skip
def test_known_forms(value: JsonValue, expected: bytes) -> None:
    assert canonical_bytes(value) == expected


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b'{"a":1,"a":1}',
        b'{"a":{"b":1,"b":2}}',
        b'{"a":1,"\\u0061":2}',
        b'"\\ud800"',
        b'"\\udc00\\ud800"',
        b'"\xed\xa0\x80"',
        b'"\xff"',
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e400",
        b"01",
        b"1.",
        b"+1",
        b"'a'",
        b"[1,]",
        b'{"a":1,}',
        b"// comment\n1",
        b"1 2",
        b'"a\nb"',
        b"\xef\xbb\xbf1",
        '{"a":1}'.encode("utf-16"),
        b"[" * 10_000 + b"]" * 10_000,
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(text: bytes) -> None:
    with pytest.raises(ValidationError):
        parse_strict(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "\ud800", {1: 2}, {"\udfff": 1}, b"x", object()])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        canonical_bytes(value)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_raise_nothing_else(text: bytes) -> None:
    try:
        value = parse_strict(text)
    except ValidationError:
        return
    assert parse_strict(canonical_bytes(value)) == value


def test_nul_is_kept() -> None:
    assert parse_strict(b'"a\\u0000b"') == "a\0b"


def test_true_is_no_number() -> None:
    assert canonical_bytes([True, 1]) == b"[true,1]"


def test_the_hash_carries_its_prefix() -> None:
    assert sha256_hex(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
