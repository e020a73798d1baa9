"""What has no value below ``not``, ``in``, ``with`` and a minus: as in OPA, the statement has none."""

import json

import pytest
from regorus import EvaluationError, Policy

INPUT = json.dumps({"a": 1, "b": 2, "s": "abc", "f": False, "xs": [1, 2, 3], "o": {"k": "v"}}).encode()
RULES = """package p

f(x) := x

g(x) if x == 1

members contains x if some x in input.xs

undefined if input.missing

"""


def holds(body: str) -> bool:
    return Policy(f"{RULES}r if {{\n  {body}\n}}\n").query("r", INPUT) == b"true"


@pytest.mark.parametrize(
    "operand",
    [
        "input.missing",
        "input.missing.x",
        "input.xs[7]",
        "input.xs[input.missing]",
        "f(input.missing)",
        "g(2)",
        "undefined",
        "[input.missing][0]",
        '[{"a": 1, "b": input.missing}["b"]][0]',
        "input.missing + 1",
        "-input.missing",
        "(input.missing == 1)",
        "(1 in [input.missing])",
    ],
)
@pytest.mark.parametrize(
    "negated",
    [
        "f({})",
        "g({})",
        'startswith("a", sprintf("%v", [{}]))',
        "{} > 1",
        "1 != {}",
        "{} in [1]",
        "1 in [{}]",
        "0, ({}) in [1]",
        "[{}] == [1]",
        "{} + 1 == 1",
        "input.xs[{}]",
        "members[{}]",
        "f({}) with input.a as 5",
    ],
)
def test_a_negation_of_what_has_no_value_does_not_hold(negated: str, operand: str) -> None:
    assert not holds(f"not {negated.replace('{}', operand)}")


@pytest.mark.parametrize(
    "body",
    [
        "not input.missing",
        "not input.missing.x",
        "not undefined",
        "not input.f",
        "not input.missing == 1",
        "not undefined == 1",
        "not input.a = 2",
        "not members[9]",
        "not g(2)",
        "not g(input.b)",
        "not f(input.f)",
        "not input.a > input.b",
        'not startswith(input.s, "b")',
        "not input.a in [2]",
        "not f(input.missing) with input.missing as false",
        "not f(input.missing)\n    with input.missing as false # so",
        "not f( # {\n    input.f\n  )",
        'not f({"a": 1, "b": input.a}) == {"a": 1, "b": 3}',
        "not input.s == `b`\n  not lower(input.s) == `x\ny`",
        'x := "b"; not input.s == x; not lower(input.s) == "b"',
        "count([x | some x in input.xs; not g(input.xs[x - 1])]) == 2",
        "every x in input.xs { not x == input.missing; not x > input.xs[2] }",
        "not g(count([x | some x in input.xs; not f(input.missing)])) with input.a as 2",
        "not f(input.f)\n  (input.a == 1)",
        "not [f(2)][0] == 3\n  not [input.a].x",
        "[x | some x in input.xs; not x in [1, input.missing]] == []",
        "[x | some x in input.xs; not x == input.missing] == input.xs",
        "count([x | some x in input.xs; not count([y | some y in input.xs; not y > x]) == 3]) == 2",
        "every x in input.xs { every y in input.xs { not x + y > 10 } }",
        "undefined with input.missing as [1 | not input.nope == 1][0]",
        "not input.xs[0] > 2 with input.xs as [input.b]",
        'not f({ # {\n    "a": 1, # }\n    "b": input.b\n  }) == {}',
        '\tnot\tlower(input.s)\t==\t"é"\r\n  not f(`a\\n"b"\nc`) == `c`',
        "operand__1 := 0; not operand__1 > input.a",
    ],
)
def test_a_negation_of_what_is_false_or_has_no_value_itself_holds(body: str) -> None:
    assert holds(body)


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("not f(input.missing)", b"2"),
        ("not f(input.f)", b"1"),
        ("not f(input.f) with input.a as [input.b]", b"1"),
        ("f(true) with input.a as [input.missing]", b"2"),
        ("input.a == 2 with input.a as input.b", b"1"),
    ],
)
def test_a_body_without_braces(condition: str, value: bytes) -> None:
    assert Policy(f"{RULES}r := 1 if {condition} else := 2\n").query("r", INPUT) == value


@pytest.mark.parametrize("value", ["input.missing", "[input.missing]", '{"k": input.missing}', "input.missing + 1"])
@pytest.mark.parametrize("statement", ["g(1)", "not g(2)", "x := f(1)", "some x in [1]", "every x in [1] { x == 1 }"])
def test_with_a_value_that_is_undefined(statement: str, value: str) -> None:
    assert holds(f"{statement} with input.a as {value.replace('missing', 'b')}")
    assert not holds(f"{statement} with input.a as {value}")


def test_with_a_function_stays() -> None:
    assert holds("not f(input.a) == 2; not f(5) with f as g")
    assert not holds("not f(input.b) == input.missing with f as g")


@pytest.mark.parametrize("membership", ["input.missing in [1]", "1 in input.missing", "1 in [input.missing]"])
def test_membership_of_what_has_no_value_has_none(membership: str) -> None:
    assert not holds(f"({membership}) == false")
    assert not holds(f"x := ({membership}); true")
    assert not holds("0, input.missing in []")


@pytest.mark.parametrize(
    ("membership", "value"),
    [
        ("1 in input.xs", True),
        ("7 in input.xs", False),
        ("1 in input.a", False),
        ('"v" in input.o', True),
        ('"k" in input.o', False),
        ("1 in members", True),
        ("(0, 1 in [1])", True),
        ("(1, 1 in [1])", False),
        ('("k", "v" in {"k": "v"})', True),
        ("1 in [1] in [true]", True),
        ("input.a + 1 in input.xs", True),
        ("(input.a) in (input.xs)", True),
        ("1 # in\n  in [1]", True),
    ],
)
def test_membership(membership: str, value: bool) -> None:
    assert Policy(f"{RULES}r := [{membership}]\n").query("r", INPUT) == json.dumps([value]).encode()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("-input.a", b"-1"),
        ("-input.a + 3", b"2"),
        ("-input.b * 2 - 1", b"-5"),
        ("2 * -input.b", b"-4"),
        ("1 - -input.b", b"3"),
        ("-count(input.xs)", b"-3"),
        ("f(-input.xs[0])", b"-1"),
        ("[-input.a < 0, -1]", b"[true,-1]"),
        ("-input.missing", b""),
    ],
)
def test_a_minus_before_a_reference(expression: str, value: bytes) -> None:
    assert Policy(f"{RULES}r := {expression}\n").query("r", INPUT) == value


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("not f(to_number(input.s))", "12:18"),
        ("not to_number(input.s) == 1", "12:16"),
        ("not startswith(input.a, input.s)", "12:18"),
        ("not f(input.a) == 2; to_number(input.s)", "12:33"),
        ("not f(\n    input.a) == 2\n  to_number(input.s)", "14:12"),
        ("not startswith(\n    input.a,\n   input.s)", "13:5"),
        ("-input.a < 0; to_number(input.s)", "12:26"),
        ("input.a in input.xs; to_number(input.s)", "12:33"),
    ],
)
def test_errors_have_the_authors_place(body: str, place: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        holds(body)
    assert f"policy.rego:{place}: " in str(caught.value)
