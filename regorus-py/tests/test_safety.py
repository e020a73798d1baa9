"""Names that nothing binds where they are needed are refused, as OPA v1.22.2 refuses them (``opa check``)."""

from itertools import pairwise

import pytest
from regorus import Policy, RegoError

_RULES = "package t\n\nxs := [1]\n\ng[k] := 1 if some k in [1]\n\nf(x) := x\n\n"


@pytest.mark.parametrize(
    "body",
    [
        "not input.xs[i]",
        "some i; not input.xs[i]",
        "not input.xs[i] == 1",
        "not xs[i]",
        "not g[i]",
        "not data.t.xs[i]",
        "not input.o[i].y",
        "not input.xs[i][i]",
        "some i; not i in input.xs",
        'not startswith(input.xs[i], "a")',
        "not (input.xs[i] == 1)",
        "not input.xs[i] = 1",
        "not i = 1",
        "not i := 1",
        "not input.xs[i] with input as {}",
        "x := 1; not input.xs[i] == x",
        "a := input.xs[_]; not input.zs[a][i]",
        "count([1 | not input.xs[i]]) > 0",
        "count({x: 1 | some x in input.xs; not input.ys[i] == x}) > 0",
        "every x in input.xs { not input.xs[i] == x }",
        "some i; i in input.xs",
        "input.ok; input.a == 1 with input as input.xs[i]",
        # Bound only in a body within it
        "count([i | some i in input.xs]) > 1; not input.ys[i]",
        # Bound only by another negated statement
        "not input.xs[i]; not input.ys[i]",
        # Bound only by what needs it
        "f(f(i)[i])",
        "input.xs.y[f(i)[i]]",
        "[1, 2][[i, 2][i]]",
        "[i] := 1",
        '{"a": i} := "a"',
        '{"a": i} := {"a": 1 | input.ok}',
        "some i in input.xs[i]",
        "some i in {1 | input.xs[i]}",
        # Bound after a comprehension that means another name
        "count([1 | not i]) == 0; some i in [1]",
        "input.a == 1 with input as [1 | not i]",
    ],
)
def test_a_body_that_is_unsafe(body: str) -> None:
    with pytest.raises(RegoError, match="unsafe") as caught:
        Policy(f"{_RULES}allow if {{ {body} }}")
    assert "var i is unsafe" in caught.value.message
    assert caught.value.line == 9


@pytest.mark.parametrize(
    "rule",
    [
        "r[i] if { not input.xs[i] }",
        "r contains i if { not input.xs[i] }",
        "r contains i if i > 1",
        "r := i if { not input.xs[i] }",
        "r := i if { i == 1 }",
        "r[i] := 1 if { true }",
        "r.a[i].b := 1 if true",
        "h(x) := i if { x > 1 }",
        "r if { true } else if { not input.xs[i] }",
        "r if { not input.xs[i] } else if { input.xs[i] }",
        "r := 1 if { input.a } else := i if { input.b }",
        "r := [i | not input.xs[i]]",
        "r := {i: 1 | not input.xs[i]}",
        "r := f(i)[i]",
        "h([x, y]) := i if { x == y }",
    ],
)
def test_a_rule_that_is_unsafe(rule: str) -> None:
    name = rule[0]
    with pytest.raises(RegoError, match=rf"var i is unsafe in {name}.*: nothing binds it here. Bind it in a statement"):
        Policy(f"{_RULES}{rule}")


@pytest.mark.parametrize(
    "rule",
    [
        "r := _",
        "r contains _",
        "r[input.a] := {_: 1}",
        "r := [_ | input.ok]",
        "h(x) := count(_)",
        "allow if { _ }",
        "allow if { input.a != _ }",
        "allow if { f(_) }",
        "allow if { _ := 1; not _ == 2 }",
        "allow if { not input.xs[_].y }",
    ],
)
def test_a_wildcard_is_bound_by_no_other(rule: str) -> None:
    with pytest.raises(RegoError, match="var _ is unsafe"):
        Policy(f"{_RULES}{rule}")


@pytest.mark.parametrize(
    "body",
    [
        "some xs; not xs == 1",
        "xs := [y | y = xs[_]]",
        "every xs in xs { xs == 1 }",
        "not xs[1]; every x in input.xs { xs := x; xs == 1 }",
    ],
)
def test_a_name_that_a_body_declares_is_no_rule(body: str) -> None:
    with pytest.raises(RegoError, match="is unsafe"):
        Policy(f"{_RULES}allow if {{ {body} }}")


@pytest.mark.parametrize("value", ["input.a", "input.xs[i]", "f(1)", "xs", "[input.a]", '{"a": data.b}'])
def test_a_default_that_is_no_constant(value: str) -> None:
    with pytest.raises(RegoError, match="a default is a constant"):
        Policy(f"{_RULES}default allow := {value}")


@pytest.mark.parametrize(
    "rule",
    [
        "allow if { some i; not input.xs[i]; input.ys[i] }",  # in any order
        "allow if { input.xs[i]; not input.ys[i] }",
        "allow if { some i in input.xs; not input.ys[i] }",
        "allow if { not any_bad }\n\nany_bad if input.xs[i] == 1",
        "allow if { not count([i | input.xs[i]]) == 0 }",
        "allow if { not count({i | input.xs[i]; i > 1}) == 0 }",
        "allow if { every x in input.xs { not input.ys[x] } }",
        "allow if { x = i; i = 1; not x == i }",
        "allow if { [x, 1] = [2, i]; not x == i }",
        'allow if { {"a": i} = input.o; not i == 1 }',
        "allow if { input.xs[[x, i]]; not x == i }",
        "allow if { f(1, i); not i == 2 }",
        "allow if { walk(input.x, [p, i]); not i == 2; not count(p) == 0 }",
        "allow if { a := input.xs[b]; not input.ys[a] == b }",
        "allow if { i := 1; x := [i | not input.xs[i]]; count(x) == 0 }",
        "h([x, i]) := x if { not i == 1 }",
        "h(x) := input.xs[i] if { not input.xs[x] }",
        "r := input.xs[i]",
        "r contains input.xs[i]",
        "r[input.xs[i]] := i",
        "r := count(input.xs[i])",
        "r.a[i] := 1 if some i in [1]",
        "default r := [x | some x in [1]]",
        "allow if { some _, _ in input.xs; [_, 1] := input.ys; walk(input.x, [_, _]) }",
        "allow if { f(input.xs[i])[j]; not input.ys[i] == j }",
        "allow if { [x, 1] := xs; not x == 2 }",
        "allow if { some x in input.xs; every x in x { x == 1 } }",
        "allow if { count([1 | not input.xs[i]]) == 0; i = 1 }",
        "allow if { count(input.x) with count as f }",
    ],
)
def test_what_opa_accepts_is_accepted(rule: str) -> None:
    Policy(f"{_RULES}{rule}")


def test_many_statements_in_the_worst_order_are_checked_in_time() -> None:
    """Each round of the search binds one name."""
    names = [f"x{number}" for number in range(240)]
    chain = "\n".join(f"\t{one} = {two}" for one, two in pairwise(names))
    Policy(f"{_RULES}allow if {{\n{chain}\n\t{names[-1]} = 1\n\tnot x0 == 2\n}}")
