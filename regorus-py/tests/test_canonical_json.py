"""canonical_json writes RFC 8785, with integers exact; what JSON cannot hold is refused with its place."""

import json
import struct
from collections import OrderedDict
from enum import IntEnum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from regorus import JsonError, canonical_json


class Color(StrEnum):
    RED = "red"


class Size(IntEnum):
    SMALL = 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, b"null"),
        (True, b"true"),
        (False, b"false"),
        (0, b"0"),
        (-(2**63) - 1, b"-9223372036854775809"),
        (10**30, b"1" + b"0" * 30),
        (Size.SMALL, b"1"),
        (Color.RED, b'"red"'),
        ({Color.RED: Size.SMALL}, b'{"red":1}'),
        ((1, [2, ()]), b"[1,[2,[]]]"),
        (OrderedDict(b=1, a=2), b'{"a":2,"b":1}'),
        ('\0\x1f\b\t\n\f\r"\\/\x7f', b'"\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\/\x7f"'),
        ("é\u2028\U0001f600", '"é\u2028\U0001f600"'.encode()),
        ({}, b"{}"),
        ([], b"[]"),
    ],
)
def test_writes(value: object, text: bytes) -> None:
    assert canonical_json(value) == text


@pytest.mark.parametrize(
    ("bits", "text"),
    [  # RFC 8785, appendix B
        ("0000000000000000", b"0"),
        ("8000000000000000", b"0"),
        ("0000000000000001", b"5e-324"),
        ("8000000000000001", b"-5e-324"),
        ("7fefffffffffffff", b"1.7976931348623157e+308"),
        ("4340000000000000", b"9007199254740992"),
        ("4430000000000000", b"295147905179352830000"),
        ("44b52d02c7e14af5", b"9.999999999999997e+22"),
        ("44b52d02c7e14af6", b"1e+23"),
        ("44b52d02c7e14af7", b"1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", b"999999999999999700000"),
        ("444b1ae4d6e2ef50", b"1e+21"),
        ("3eb0c6f7a0b5ed8c", b"9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", b"0.000001"),
        ("41b3de4355555553", b"333333333.3333332"),
        ("becbf647612f3696", b"-0.0000033333333333333333"),
    ],
)
def test_writes_doubles_as_ecmascript_does(bits: str, text: bytes) -> None:
    (double,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(double) == text


def test_orders_keys_by_utf_16_code_units() -> None:
    # RFC 8785, section 3.2.3
    value = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\xf6": 7}
    keys = list(json.loads(canonical_json(value)))
    assert keys == ["\r", "1", "\x80", "\xf6", "\u20ac", "\U0001f600", "\ufb33"]


def _ring() -> list[object]:
    ring: list[object] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "$: NaN"),
        ([float("inf")], "$[0]: inf"),
        ("\ud800", "$: a string with a lone surrogate"),
        ({"a": [1, {"b c": "\udfff"}]}, '$.a[1]["b c"]: a string with a lone surrogate'),
        ({"\ud800": 1}, "$: a key with a lone surrogate"),
        ({"a": [1, 2, 3, {1, 2}]}, "$.a[3]: set is no JSON type"),
        (b"x", "$: bytes is no JSON type"),
        (object(), "$: object is no JSON type"),
        ({"a": {1: 2}}, "$.a: a key that is no string"),
        ({None: 1}, "$: a key that is no string"),
        ([10**4300], "more digits"),
        (_ring(), "127 deep"),
    ],
)
def test_refuses(value: object, message: str) -> None:
    with pytest.raises(JsonError) as caught:
        canonical_json(value)
    assert message in str(caught.value)


class Twin(str):
    """A string that equals nothing, so that a dict holds it beside its like."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def test_refuses_two_keys_that_are_one_in_json() -> None:
    with pytest.raises(JsonError, match="two keys"):
        canonical_json({Twin("a"): 1, Twin("a"): 2})


@given(st.dictionaries(st.text(), st.integers()))
def test_sorts_as_utf_16_sorts(value: dict[str, int]) -> None:
    keys = list(json.loads(canonical_json(value)))
    assert keys == sorted(value, key=lambda key: key.encode("utf-16-be"))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_survive(double: float) -> None:
    # From 2**53 to 1e21 ECMAScript writes the shortest digits that lead back, filled up with zeros.
    assert float(json.loads(canonical_json(double))) == double
