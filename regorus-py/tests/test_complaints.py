"""A policy that is refused: what, in which file, on which line and column, and the line itself."""

import copy
import pickle

import pytest
from regorus import EvaluationError, InputError, Policy, RegoError


@pytest.mark.parametrize(
    ("source", "line", "column", "message"),
    [
        ("", 1, 1, "package"),
        ("package p\nallow if input.x ==", 2, 20, "expecting expression"),
        ("package p\n\nallow if foo.bar(1)", 3, 10, "unknown function foo.bar"),
        ("package p\nallow if startswith(`a`)", 2, 10, "startswith takes 2 arguments, not 1"),
        ("package p\nallow if { é := 1 }", 2, 12, ""),
        ('package p\nallow if { "é" == "é"; nope(1) }', 2, 24, "unknown function nope"),
        ("package p\nf(x) := x\nallow if f(1, 2, 3)", 3, 10, "f takes 1 argument, not 3"),
        ("package p\nallow if undefined_name == 1", 2, 10, "undefined_name"),
        # Rego v0
        ("package p\nallow { input.x }", 2, 7, "Rego v1"),
        ('package p\ndeny[msg] { msg := "x" }', 2, 11, "Rego v1"),
    ],
)
def test_says_where(source: str, line: int, column: int, message: str) -> None:
    with pytest.raises(RegoError) as caught:
        Policy(source, path="the/policy.rego")
    error = caught.value
    assert (error.path, error.line, error.column) == ("the/policy.rego", line, column)
    assert message in error.message
    assert "\n" not in error.message
    assert error.snippet == (source.splitlines() or [""])[line - 1]
    assert str(error) == f"the/policy.rego:{line}:{column}: {error.message}"


def test_names_the_library_that_is_wrong() -> None:
    with pytest.raises(RegoError) as caught:
        Policy("package p", libraries=[("lib/a.rego", "package lib.a"), ("lib/b.rego", "package lib.b\nx := nope(1)")])
    assert (caught.value.path, caught.value.line, caught.value.column) == ("lib/b.rego", 2, 6)


@pytest.mark.parametrize(
    "text",
    [
        "count([1, 2], n)",  # the result as a last argument
        "f(1, n)",
        "n := data.p.f(1)",
        "n := data.lib.x.g(1)",
        "n := x.g(1)",
        "n := renamed(1)",
        "n := 1 with time.now_ns as 5",
        "some n in [f(1)]; not f(n) == 2",
    ],
)
def test_calls_that_are_right(text: str) -> None:
    source = f"package p\nimport data.lib.x\nimport data.lib.x.g as renamed\nf(n) := n\nallow if {{ {text}; n > 0 }}"
    policy = Policy(source, libraries=[("x.rego", "package lib.x\ng(n) := n")])
    assert policy.decide(b"{}") == b'{"allow":true}'


def test_a_local_name_is_no_rule() -> None:
    policy = Policy("package p\nhost := clean(input.host)\nclean(host) := lower(host)\nallow if host == `a`")
    assert policy.decide(b'{"host": "A"}') == b'{"allow":true}'


def test_a_function_may_have_the_name_of_a_builtin() -> None:
    policy = Policy("package p\nreplace(x) := x\nallow if replace(true)")
    assert policy.decide(b"{}") == b'{"allow":true}'


@pytest.mark.parametrize(
    "error",
    [
        RegoError("m", "p", 1, 2, "s"),
        RegoError("m", "p", None, None, ""),
        EvaluationError("r", "panic"),
        InputError("r"),
    ],
)
def test_errors_survive_copying(error: Exception) -> None:
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - our own bytes
        assert type(twin) is type(error)
        assert vars(twin) == vars(error)
        assert str(twin) == str(error)
