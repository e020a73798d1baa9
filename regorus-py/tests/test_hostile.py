"""Policies and inputs made to do harm. What would kill the process is refused before it could."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from time import monotonic

import pytest
from regorus import EvaluationError, Input, InputError, JsonError, Policy, RegoError

P = "package p\n"


def chain(length: int, step: str, first: str = "[1, 2]") -> str:
    """`x0 := first`, and each further rule made of the one before (`{}`)."""
    rules = [f"x0 := {first}"] + [f"x{n} := {step.format(f'x{n - 1}')}" for n in range(1, length + 1)]
    return "\n".join(rules)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        # Functions that call themselves overflow the stack, and the process dies.
        ("f(n) := f(n + 1)\nallow if f(1)", 2, "recursion: p.f needs p.f"),
        ("f(n) := g(n)\ng(n) := f(n)\nallow if f(1)", 2, "recursion: p.f needs p.g needs p.f"),
        ("f(n) := a[n]\na := [f(1)]\nallow if a", 2, "recursion"),
        ("f(n) := [m | m := h(n)][0]\nh(n) := n if { every x in [n] { f(x) } }\nallow if f(1)", 2, "recursion"),
        ("f(n) := data.p.f(n)\nallow if f(1)", 2, "recursion"),
        ("import data.p as me\nf(n) := me.f(n)\nallow if f(1)", 3, "recursion"),
        ("f(n) := n\ng(n) := 1 if f(n) == 1 with f as g\nallow if g(1)", 3, "recursion"),
        ("default f(_) := 1\nf(n) := f(n)\nallow if f(1)", 2, "recursion"),
        ("f(n) := 1 if { print(f(n)) }\nallow if f(1)", None, None),  # prints are no calls
        ("a if b\nb if a\nallow if a", 2, "recursion"),
        ("allow if data[x].y", 2, "recursion"),
        ("allow if { walk(data, [path, value]) }", 2, "recursion"),
        ("allow if data.p[x]", 2, "recursion"),
        ("a contains 1 if a[2]\nallow if a", 2, "recursion"),
        ("a[x] := 1 if { some x in a }\nallow if a", 2, "recursion"),
        # A chain of rules takes stack for each.
        (chain(2000, "{} + 1", "1") + "\nallow if x2000", None, "2002 rules"),
        # Long expressions end on the stack, in drop too.
        ("allow if " + "1\n+ " * 19_000 + "1", None, "bytes"),
        ("allow if " + "1\n+" * 15_000 + "1", 2, "15000 operators"),
        ("allow if " + "1\n+" * 501 + "1", 2, "operators"),
        ("x := " + "[" * 9_000 + "]" * 9_000, 2, "nested more than 8"),
        # The parser takes twice as long for each level.
        ("x := " + "[" * 16 + "]" * 16, 2, "nested more than 8"),
        ("x := " + "{" * 9 + "}" * 9, 2, "nested more than 8"),
        ("x := " + "abs(" * 9 + "1" + ")" * 9, 2, "nested more than 8"),
        ("\n".join(f"x{n} := " + "[" * 8 + "1," * 40 + "1" + "]" * 8 for n in range(300)), 94, "deep in brackets"),
        ("allow if {\n" + "\n".join(f"some x{n} in [1]" for n in range(3_000)) + "\n}", 2, "3000 statements"),
        # Builtins that take all time or all memory from small arguments.
        ("allow if 1 == 1 with data.x as trace", 2, "not available"),
        # Nobody reads traces; the same call gets the same decision; a decision waits for no other system.
        ('allow if trace("x")', 2, "trace is not available"),
        ('allow if rand.intn("x", 10) == 1', 2, "rand.intn is not available"),
        ('allow if http.send({"url": "x"})', 2, "http.send is not available"),
        ("allow if opa.runtime()", 2, "opa.runtime is not available"),
        ('allow if uuid.rfc4122("x")', 2, "uuid.rfc4122 is not available"),
        ("allow if __builtin_sets.union({1}, {2})", 2, "internal name"),
        # A literal is made exact while it is parsed.
        ("x := 1e100000000", 2, "exponent"),
        ("x := [1.5E+100000000]", 2, "exponent"),
        # Text limits of the engine itself.
        ("#" * 1_100 + "\nallow := true", None, None),
    ],
)
def test_refused_before_evaluation(text: str, line: int | None, message: str | None) -> None:
    if message is None:
        try:
            Policy(P + text)
        except RegoError as error:
            assert "column" in error.message or "1024" in error.message
        return
    with pytest.raises(RegoError) as caught:
        Policy(P + text)
    assert message in caught.value.message
    assert caught.value.line == line
    if line is not None:
        assert caught.value.snippet == (P + text).splitlines()[line - 1]


LARGE = json.dumps({"s": "A" * 100_000}).encode()


@pytest.mark.parametrize(
    ("text", "document", "kind", "reason"),
    [
        ("allow if bits.lsh(1, 2000000000) > 1", b"{}", "error", "shift"),
        (chain(40, "{0} * {0}", "12345678901234567890") + "\nallow if x40 > 1", b"{}", "error", "4,096 bits"),
        (
            "f(x) := x * x\ng(x) := f(f(f(f(x))))\nh(x) := g(g(g(g(x))))\nallow if h(h(h(3))) > 1",
            b"{}",
            "error",
            "4,096 bits",
        ),
        ("allow if count(regex.find_n(`.*[^A-Z]|[A-Z]`, input.s, -1)) > 1", LARGE, "error", "65536 bytes"),
        ("allow if count(regex.split(`.*[^A-Z]|[A-Z]`, input.s)) > 1", LARGE, "error", "65536 bytes"),
        ('allow if regex.replace(input.s, `.*[^A-Z]|[A-Z]`, "x")', LARGE, "error", "65536 bytes"),
        ("allow if regex.match(input.s, input.s)", LARGE, "error", "8192 bytes"),
        (f'allow if sprintf("{"%1000000d" * 5}", [1, 2, 3, 4, 5])', b"{}", "error", "a text of more than"),
        ('allow if regex.template_match(trim("a{b", " "), "ab", "{", "}")', b"{}", "error", "unbalanced braces"),
        ('allow if regex.template_match(trim("a", " "), "a", "{{", "}")', b"{}", "error", "exactly one character"),
        (f'allow if sprintf("{"%.1000000f" * 5}", [1.5, 1.5, 1.5, 1.5, 1.5])', b"{}", "error", "a text of more than"),
        (chain(40, 'replace({}, "a", "aa")', '"aaaaaaaa"') + "\nallow if x40", b"{}", "error", "too large"),
        (
            chain(40, 'strings.replace_n({{"a": "aa"}}, {})', '"aaaaaaaa"') + "\nallow if x40",
            b"{}",
            "error",
            "too large",
        ),
        (chain(40, 'concat("", [{0}, {0}])', '"aaaaaaaa"') + "\nallow if x40", b"{}", "error", "too large"),
        (chain(40, 'sprintf("%s%s", [{0}, {0}])', '"aaaaaaaa"') + "\nallow if x40", b"{}", "error", "too large"),
        (chain(40, "array.concat({0}, {0})") + "\nallow if x40", b"{}", "memory_limit", "memory limit"),
        ("allow if count(numbers.range(1, 100000000)) > 1", b"{}", "error", "range"),
        ("allow if count(numbers.range_step(1, 100000000, 1)) > 1", b"{}", "error", "range"),
        ('allow if glob.match(input.s, [], "x")', json.dumps({"s": "{" * 20_000}).encode(), "error", "1024 bytes"),
        ('allow if units.parse("1e100000000") > 1', b"{}", "error", "exponent"),
        ('allow if units.parse_bytes("1e100000000") > 1', b"{}", "error", "exponent"),
        ('allow if to_number("1e100000000") > 1', b"{}", "error", "no number"),
        ('allow if json.unmarshal("[1e100000000]")', b"{}", "error", "too large"),
        ('allow if json.unmarshal("{\\"a\\": 1, \\"a\\": 2}")', b"{}", "error", "duplicate key"),
        ('allow if yaml.unmarshal("a: &a [1]\\nb: [*a, *a]")', b"{}", "error", "read differently"),
        ("allow if product([x | some x in numbers.range(1, 1000)]) > 1", b"{}", "error", "factors"),
        ('allow if trim("a", input.s)', LARGE, "error", "256 bytes"),
        ('allow if yaml.marshal([18446744073709551616]) != ""', b"{}", "error", "written otherwise"),
        ('allow if yaml.unmarshal("18446744073709551616")', b"{}", "error", "rounded"),
        ("allow if regex.match(`[ab]*a[ab]{400}c`, input.s)", LARGE, "error", "counts to 400"),
        ("allow if indexof(input.s, input.s) == 1", LARGE, "error", "too large"),
        ("allow if object.union_n([{x: 1} | some x in numbers.range(1, 20000)])", b"{}", "error", "too large"),
        (
            'allow if strings.replace_n({sprintf("%d", [x]): "a" | some x in numbers.range(1, 2000)}, input.s) == ""',
            LARGE,
            "error",
            "too large",
        ),
        # Values that hold another many times over: small in memory, endless when written.
        (chain(40, "[{0}, {0}]") + "\nallow if json.marshal(x40)", b"{}", "error", "too large"),
        (chain(40, "[{0}, {0}]") + '\nallow if sprintf("%v", [x40])', b"{}", "error", "too large"),
        (chain(40, "[{0}, {0}]") + "\nallow if { walk(x40, [p, v]); v == 3 }", b"{}", "error", "too large"),
        (chain(40, "[{0}, {0}]") + "\ndeny := x40", b"{}", "error", "bytes"),
        (chain(200, "[{0}]") + "\ndeny := x200", b"{}", "error", "127 deep"),
        # What the timer sees.
        (
            "n := numbers.range(1, 2000)\nallow if { some a in n; some b in n; some c in n; a + b + c == -1 }",
            b"{}",
            "time_limit",
            "time",
        ),
        (
            "f0(x) := [[[[x]]]]\n"
            + "\n".join(f"f{n}(x) := f{n - 1}(f{n - 1}(f{n - 1}(f{n - 1}(x))))" for n in range(1, 12))
            + "\nallow if f11(1) == f11(2)",
            b"{}",
            "time_limit",
            "time",
        ),
    ],
)
def test_ends_as_an_error(text: str, document: bytes, kind: str, reason: str) -> None:
    # On a busy machine the clock may run faster than what is tested.
    policy = Policy(P + text, time_limit_milliseconds=50 if kind == "time_limit" else 2_000)
    started = monotonic()
    with pytest.raises(EvaluationError) as caught:
        policy.decide(document)
    assert caught.value.kind == kind
    assert reason in caught.value.reason
    assert monotonic() - started < 5


def test_walking_over_a_megabyte_ends() -> None:
    document = Input(json.dumps({"s": [{"a": n, "b": [1, 2, 3]} for n in range(30_000)]}).encode())
    with pytest.raises(EvaluationError):
        Policy(P + 'allow if { walk(input, [p, v]); v == "q" }').decide(document)


def test_printing_a_value_without_end_prints_nothing() -> None:
    policy = Policy(P + chain(40, "[{0}, {0}]") + "\nallow if { print(x40); true }")
    assert policy.decide(b"{}") == b'{"allow":true}'


def test_a_panic_is_an_exception() -> None:
    policy = Policy(P + "allow if trim_space(1e308 * 1e308)")  # a number that the engine cannot write into its message
    with pytest.raises(EvaluationError) as caught:
        policy.decide(b"{}")
    assert caught.value.kind == "panic"
    assert isinstance(caught.value, Exception)
    with pytest.raises(EvaluationError):
        policy.decide(b"{}")  # and the policy lives on


@pytest.mark.parametrize(
    ("text", "count"),
    [("abc", 4), ("", 1), ("é", 2)],
)
def test_counting_the_empty_string_counts_as_opa_does(text: str, count: int) -> None:
    policy = Policy(P + 'c := strings.count(input.s, "")')
    assert policy.query("c", json.dumps({"s": text}).encode()) == str(count).encode()


@pytest.mark.parametrize(
    "make",
    [Input, Policy(P + "allow := true").decide],
)
@pytest.mark.parametrize(
    "document",
    [
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'{"a": "\xff"}',
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b'{"a": 1e400}',
        b'{"a": 1e100000000}',
        b'{"a": -1e100000000}',
        b'{"a": ' + b"1" * 65 + b"}",
        b'{"a": "\\ud800"}',
    ],
)
def test_hostile_inputs_are_errors(make: Callable[[bytes], object], document: bytes) -> None:
    with pytest.raises(InputError) as caught:
        make(document)
    assert caught.value.kind == "input"
    assert isinstance(caught.value, JsonError)
    assert "byte " in caught.value.reason


def test_the_serializers_private_key_is_a_key_like_others() -> None:
    key = "$serde_json::private::Number"
    policy = Policy(P + f'allow if input["{key}"] == "12"\ndeny if input == 12')
    assert policy.decide(json.dumps({key: "12"}).encode()) == b'{"allow":true}'


def test_long_chains_fit_on_small_stacks() -> None:
    # Threads of the interpreter may have little stack: evaluation brings its own.
    policy = Policy(P + chain(490, "{} + 1", "1") + "\nallow if x490 == 491")
    answers: list[bytes] = []
    previous = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: answers.append(policy.decide(b"{}")))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(previous)
    assert answers == [b'{"allow":true}']


def test_limits_can_be_set() -> None:
    text = P + "n := numbers.range(1, 50000)\nallow if { some a in n; a < 0 }"
    with pytest.raises(EvaluationError) as caught:
        Policy(text, memory_limit_bytes=100_000).decide(b"{}")
    assert caught.value.kind == "memory_limit"
    with pytest.raises(EvaluationError) as caught:
        Policy(text, time_limit_milliseconds=1).decide(b"{}")
    assert caught.value.kind == "time_limit"
    assert Policy(text, time_limit_milliseconds=5_000).decide(b"{}") == b"{}"


def test_says_nothing_on_the_terminal() -> None:
    program = (
        "import regorus\n"
        "texts = 'allow if { print(input); true }', 'allow if sprintf(\"%²d\", [1])', 'allow {{', 'allow { x }'\n"
        "for text in texts:\n"
        "    try:\n"
        "        regorus.Policy('package p\\n' + text).decide(b'{}')\n"
        "    except (regorus.RegoError, regorus.EvaluationError):\n"
        "        pass\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert done.stdout == b""
    assert done.stderr == b""
