"""Regular expressions have Go's syntax and values, and those that a policy names are compiled with it."""

import json
import time

import pytest
from regorus import EvaluationError, Policy, RegoError

P = "package p\n"


def value(expression: str, document: dict[str, object] | None = None) -> object:
    policy = Policy(P + f"reason := {expression}\nallow if true", time_limit_milliseconds=2_000)
    return json.loads(policy.decide(json.dumps(document or {}).encode())).get("reason")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # Perl's classes and boundaries are ASCII's: a deny for `\bsecret\b` must see this one.
        (r"regex.match(`\bsecret\b`, `ésecret`)", True),
        (r"regex.match(`^\d+$`, `٣`)", False),
        (r"regex.match(`^\w$`, `é`)", False),
        ("regex.match(`\\s`, `\u2003`)", False),
        # Sets have no operators.
        ("regex.find_n(`[a&&b]`, `a&b`, -1)", ["a", "&", "b"]),
        ("regex.find_n(`[!--b]+`, `ab-`, -1)", ["b-"]),
        ("regex.find_n(`[a~~b]+`, `ab~`, -1)", ["ab~"]),
        ("regex.match(`^[[a]$`, `[`)", True),
        # Case: Unicode's other cases, also of ASCII letters.
        ("regex.match(`(?i)^k$`, `\u212a`)", True),
        ("regex.match(`(?i)^\\w$`, `\u017f`)", True),
        # Flags, groups, escapes.
        ("regex.match(`a(?i)b`, `aB`)", True),
        ("regex.match(`^(?:a(?i)b)B$`, `abB`)", True),
        (r"regex.match(`^\Qa.b\E+$`, `a.bb`)", True),
        (r"regex.match(`^\101\x{42}\x43$`, `ABC`)", True),
        (r"regex.match(`^a\z`, `a`)", True),
        (r"regex.match(`\pN\p{Greek}`, `²σ`)", True),
        ("regex.match(`a{,2}`, `a{,2}`)", True),
        ("regex.match(`(?m)^b$`, `a\nb\nc`)", True),
        ("regex.replace(`ab`, `(?P<x>a)(?<y>b)`, `$y-${x}$z$$`)", "b-a$"),
        ("regex.replace(`abc`, ``, `-`)", "-a-b-c-"),
        ("regex.split(`b*`, `abc`)", ["a", "c"]),
        ("regex.split(``, ``)", []),
        ("regex.split(`a`, ``)", [""]),
        ("regex.find_all_string_submatch_n(`(a)|(b)`, `ba`, -1)", [["b", "", "b"], ["a", "a", ""]]),
        ("regex.find_all_string_submatch_n(`(b)(a){0}`, `b`, -1)", [["b", "b", ""]]),
        ("regex.find_n(`a*`, `baac`, 2)", ["", "aa"]),
        ("regex.template_match(`urn:<[a-z]+>:.`, `urn:abc:.`, `<`, `>`)", True),
        ("regex.template_match(`a#<b>`, `a#b`, `<`, `>`)", True),
        (r"[regex.is_valid(`\C`), regex.is_valid(`a{1001}`), regex.is_valid(`(?=a)`), regex.is_valid(1)]", [False] * 4),
        # These were too large for the engine.
        (r"regex.match(`^\w{1,64}$`, `abc`)", True),
        (r"regex.match(`\w+@\w+\.\w+`, `a@b.example`)", True),
        (r"regex.match(`^\pL{1,255}$`, `日本語`)", True),
        (r"regex.match(`(?i)(password|token)\s*[:=]\s*\S{8,255}`, `Token: 0123456789`)", True),
    ],
)
def test_values_are_those_of_go(expression: str, expected: object) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("allow if regex.match(`[a`, input.x)", 2, 22, "regex.match: error parsing regexp: missing closing ]: `[a`"),
        ("allow if {\n\tnot regex.match(\n\t\t`a**`, input.x)\n}", 4, 3, "invalid nested repetition operator: `**`"),
        ('allow if regex.replace(input.x, "(", "") == ""', 2, 33, "missing closing )"),
        (r"allow if regex.find_n(`\C`, input.x, 1) != []", 2, 23, r"invalid escape sequence: `\C`"),
        ("allow if regex.split(`a{1001}`, input.x) == []", 2, 22, "invalid repeat count: `{1001}`"),
        ("allow if regex.match(`(?P<é>a)`, input.x)", 2, 22, "invalid named capture: `(?P<é>`"),
        (r"allow if regex.match(`\p{Klingon}`, input.x)", 2, 22, "invalid character class range"),
        ("allow if regex.match(`(?=a)`, input.x)", 2, 22, "invalid or unsupported Perl syntax: `(?=`"),
        (r"allow if regex.match(`(\pL{1,250}){4}`, input.x)", 2, 22, "a pattern of more than 16777216 bytes"),
        ('allow if regex.template_match("a<(>", input.x, "<", ">")', 2, 31, "missing closing )"),
        ('allow if regex.globs_match("a]", input.x)', 2, 28, "set-close"),
        # Through names, lists and objects.
        ("wanted := `+`\nallow if regex.match(wanted, input.x)", 2, 11, "missing argument to repetition operator: `+`"),
        ("allow if {\n\tp := `a)`\n\tregex.match(p, input.x)\n}", 3, 7, "unexpected )"),
        ('all := ["a", "b("]\nallow if regex.match(all[_], input.x)', 2, 14, "missing closing )"),
        ('all := {"k": "b("}\nallow if {\n\tsome p in all\n\tregex.match(p, input.x)\n}', 2, 14, "missing closing )"),
    ],
)
def test_a_wrong_pattern_is_refused_with_its_policy(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(RegoError) as caught:
        Policy(P + text)
    assert reason in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        # Another name of the same text, or one that is written twice, is not taken for the pattern.
        "wanted := `(`\nf(wanted) if regex.match(wanted, input.x)\nallow if f(`a`)",
        "allow if {\n\tp := input.p\n\tregex.match(p, input.x)\n}\nreason := p if { p := `(` }",
        "allow if regex.is_valid(`(`)",
        "allow if {\n\tsome p in [x | x := input.all[_]]\n\tregex.match(p, input.x)\n}",
    ],
)
def test_what_is_no_constant_pattern_is_left(text: str) -> None:
    Policy(P + text)


def test_a_pattern_of_the_input_is_an_error_when_it_is_wrong_or_large() -> None:
    policy = Policy(P + "deny if regex.match(input.p, `a`)")
    assert policy.decide(rb'{"p": "\\w{1,1000}"}') == b'{"deny":true}'
    for wrong, reason in (("(", "missing closing )"), (r"\pL{200}", "bytes when compiled"), ("(" * 300, "nested")):
        with pytest.raises(EvaluationError) as caught:
            policy.decide(json.dumps({"p": wrong}).encode())
        assert reason in caught.value.reason


def test_finding_all_matches_ends_in_time() -> None:
    policy = Policy(P + r"deny contains m if some m in regex.find_n(`.*[^A-Z]|[A-Z]`, input.text, -1)")
    started = time.process_time()
    with pytest.raises(EvaluationError, match=r"takes too long|time"):
        policy.decide(json.dumps({"text": "A" * 65_000}).encode())
    assert time.process_time() - started < 5
