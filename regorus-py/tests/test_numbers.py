"""Integers are exact, whatever their size, on every way into a policy and out of it."""

import json
import time

import pytest
from regorus import Data, EvaluationError, Policy, RegoError

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
        ("1e21 + 0.5", b"1000000000000000000000"),
        ("9007199254740993", b"9007199254740993"),
        ("18446744073709551615 + 1", b"18446744073709551616"),
        ("-9223372036854775808 - 1", b"-9223372036854775809"),
        ("1e-7", b"1e-7"),
        ("2.50", b"2.5"),
    ],
)
def test_numbers_are_written_as_canonical_json(expression: str, text: bytes) -> None:
    assert Policy(f"package p\nx := {expression}").query("x", b"{}") == text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("0.1 + 0.2", b"0.3"),
        ("1 / 3 * 3", b"1"),
        ("(input.a + 0.2) * input.b", b"0.9"),
        ("((1)) + ((2 + 3) * 4)", b"21"),
        ("1 +\n\t# a + b (\n\t(2)", b"3"),
        ("2 -1", b"1"),
        ("2 - -1", b"3"),
        ("-7 % 3", b"-1"),
        ("({1, 2, 3} - {2}) - {1}", b"[3]"),
        ("{1, 2} - {1} & {2}", b"[2]"),
        ("[y | y := input.xs[_] * 2]", b"[2,4,6]"),
        ("[y | some z in input.xs; y := f(z + 1) - 1]", b"[3,5,7]"),
        ("input.xs[1 + 1]", b"3"),
        ('["#", "+", `-`][count(input.xs) - 2]', b'"+"'),
        ("plus(1, minus(mul(6, 2), div(rem(9, 5), 2)))", b"11"),
        ("123456789012345678901 * 7", b"864197523086419752307"),
        ("18446744073709551616 / -0.5", b"-36893488147419103230"),
        ("0 * 0.1", b"0"),
        ("set() - {1}", b"[]"),
        ("{1} - (set( )) - set()", b"[1]"),
        ("[y | some y in({1, 2})-({2})]", b"[1]"),
        ("count([1 | not(input.b)-3 > 0])", b"1"),
        ("[y | y := input.z with input.z as(1)+2]", b"[3]"),
    ],
)
def test_operators_give_opas_values(expression: str, text: bytes) -> None:
    policy = Policy(f"package p\n\nx := {expression}\n\nf(z) := z * 2\n")
    assert policy.query("x", b'{"a": 0.1, "b": 3, "xs": [1, 2, 3]}') == text


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("1 / (2 - 2)", "divide by zero"),
        ("1 % 0", "modulo by zero"),
        ("1.5 % 2", "modulo on floating-point number"),
        ("input.s + 1", "operand 1 must be number but got string"),
        ("{1} - 1", "operand 1 must be number but got set"),
        ("1e-300 * 1e-300", "a result too close to zero for a double"),
        ("1e308 * 1e308 * 1e308 * 1e308 * 1e308", "a result of more than 4,096 bits"),
    ],
)
def test_what_cannot_be_calculated_is_an_error_where_it_stands(expression: str, reason: str) -> None:
    policy = Policy(f"package p\n\nx if {{\n  y := 1 + 2; z := {expression}; y < z\n}}\n")
    with pytest.raises(EvaluationError, match=rf"^policy\.rego:4:\d+: {reason}$") as caught:
        policy.query("x", b'{"s": "a"}')
    assert (
        len("  y := 1 + 2; z := ") < int(str(caught.value).split(":")[2]) <= len(f"  y := 1 + 2; z := {expression}; ")
    )


def test_a_number_far_below_every_double_is_refused_at_once() -> None:
    policy = Policy("package p\nx := " + " * ".join(["1e-308"] * 400))
    started = time.process_time()
    with pytest.raises(EvaluationError, match="a result too close to zero for a double"):
        policy.query("x", b"{}")
    assert time.process_time() - started < 0.2


@pytest.mark.parametrize("before", ["é" * 40, r"\"#`" + "é" * 40])
def test_operators_behind_an_error_do_not_move_it(before: str) -> None:
    texts = [f'package p\nx := ["{before}", to_number("z"), 1 {rest}]' for rest in ("+ 2", ", 2")]
    reasons = []
    for text in texts:
        with pytest.raises(EvaluationError) as caught:
            Policy(text).query("x", b"{}")
        reasons.append(str(caught.value))
    assert reasons[0] == reasons[1]


def test_an_operand_that_is_undefined_leaves_the_expression_undefined() -> None:
    assert Policy("package p\nx := input.absent + 1").query("x", b"{}") == b""


def test_no_policy_can_name_the_function_of_the_operators() -> None:
    with pytest.raises(RegoError, match="calculate__"):
        Policy('package p\nx := calculate__("..+", [1, 2]) + 1')
    own = Policy("package p\ncalculate__(a, b) := a\nx := calculate__(1, 2) + 0.2 + 0.1")
    assert own.query("x", b"{}") == b"1.3"
