"""Integers are exact, whatever their size, on every way into a policy and out of it."""

import json

import pytest
from regorus import Data, Policy

BIG = 123456789012345678901  # 67 bits; its neighbours are the same double


@pytest.mark.parametrize("neighbour", [-1, 1])
@pytest.mark.parametrize("number", [BIG, -BIG, 2**53 + 1, 2**63, 2**64, 10**63 + 1])
def test_neighbours_differ(number: int, neighbour: int) -> None:
    policy = Policy(f"package p\ndeny if input.n == {number}\nallow if input.n == {number + neighbour}")
    assert policy.decide(b'{"n": %d}' % number) == b'{"deny":true}'
    assert policy.decide(b'{"n": %d}' % (number + neighbour)) == b'{"allow":true}'


@pytest.mark.parametrize(
    "way",
    [
        "input.n",
        "data.n",
        "to_number(input.s)",
        "json.unmarshal(input.j)[0]",
        "to_number(sprintf(`%d`, [input.n]))",
        "json.unmarshal(json.marshal(input.n))",
    ],
)
def test_every_way_in_is_exact(way: str) -> None:
    policy = Policy(f"package p\nx := {way}\nsame if {way} == {BIG}", data=Data(b'{"n": %d}' % BIG))
    document = json.dumps({"n": BIG, "s": str(BIG), "j": f"[{BIG}]"}).encode()
    assert policy.query("same", document) == b"true"
    assert policy.query("x", document) == str(BIG).encode()


@pytest.mark.parametrize(
    ("number", "literal"),
    [
        (b"1e23", "1e23"),
        (b"1E+2", "100"),
        (b"1.0", "1"),
        (b"-0", "0"),
        (b"0.1", "0.1"),
        (b"1e308", "1e308"),
        (b"1e-400", "0"),
        (b"123456789012345678901e3", "123456789012345678901000"),
    ],
)
def test_a_number_is_what_the_same_literal_is(number: bytes, literal: str) -> None:
    policy = Policy(f"package p\nallow if input.n == {literal}")
    assert policy.decide(b'{"n": %b}' % number) == b'{"allow":true}'


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("1 / 3", b"0.3333333333333333"),
        ("10 / 2", b"5"),
        ("1e21 + 0.5", b"1e+21"),
        ("9007199254740993", b"9007199254740993"),
        ("18446744073709551615 + 1", b"18446744073709551616"),
        ("-9223372036854775808 - 1", b"-9223372036854775809"),
        ("1e-7", b"1e-7"),
        ("2.50", b"2.5"),
    ],
)
def test_numbers_are_written_as_canonical_json(expression: str, text: bytes) -> None:
    assert Policy(f"package p\nx := {expression}").query("x", b"{}") == text
