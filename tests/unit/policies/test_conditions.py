"""A policy is left out only where it would have said nothing and raised nothing."""

import json

import pytest
import regorus
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.policies.compile import PolicyRefusedError, compile_policy
from headgate.policies.conditions import Conditions
from headgate.policies.formula import CallKey

DATA = b'{"allowlist":{"destinations":[]}}'
HEAD = "package t.p\nimport rego.v1\n"

GITHUB_READ = CallKey("github", "get_repo", "api.github.com", "GET")
GITHUB_MERGE = CallKey("github", "merge", "api.github.com", "PUT")
SLACK_POST = CallKey("slack", "post_message", "slack.com", "POST")
EXPLICIT = CallKey("shell", "run", None, None)
CALLS = {"read": GITHUB_READ, "merge": GITHUB_MERGE, "slack": SLACK_POST, "explicit": EXPLICIT}


def conditions(rules: str) -> Conditions:
    return compile_policy(HEAD + rules, DATA).conditions


@pytest.mark.parametrize(
    ("rules", "concerned"),
    [
        # What a policy's own conditions rule out is left out …
        ('deny if input.tool == "github"', "read merge"),
        ('deny if "github" == input.tool', "read merge"),
        ('deny if input["tool"] == `github`', "read merge"),
        ('deny if input.action.tool == "github"', "read merge"),
        ('deny if input.tool = "github"', "read merge"),
        ('deny if input.http.method == "PUT"', "merge"),
        ('deny if input.http.host in {"slack.com", "api.github.com"}', "read merge slack"),
        ('deny if input.tool in ["slack", 7]', "slack"),
        ('deny if not input.tool == "github"', "slack explicit"),
        ('deny if input.tool != "github"', "slack explicit"),
        ('deny if input.http.host != "slack.com"', "read merge"),  # undefined without a host
        ('deny if not input.http.host == "slack.com"', "read merge explicit"),
        ('deny if { input.tool == "github"; input.operation == "merge" }', "merge"),
        ('deny := input.tool == "slack"', "slack"),
        ('tools := {"slack"}\ndeny if input.tool in tools', "slack"),
        ('mine if input.tool == "slack"\ndeny contains "no" if mine', "slack"),
        ('mine if input.tool == "slack"\ndeny contains "no" if not mine', "read merge explicit"),
        ('mine if input.tool == "slack"\nmine if input.operation == "run"\nallow if mine', "slack explicit"),
        ('deny if { input.tool == "slack"; to_number(input.params.n) > 1 }', "slack"),
        ('deny contains m if { input.tool == "slack"; m := sprintf("%v", [input.params]) }', "slack"),
        ('deny contains m if { input.tool == "slack"; some m in input.params.list }', "slack"),
        ('deny contains "x" if input.tool == "slack"\nreason := concat(", ", deny) if count(deny) > 0', "slack"),
        ('allow if input.tool == "slack"\nrisk_level := "low"\nreason := "r" if input.params.x', "slack"),
        ('deny if input.tool == "slack"\nreason := to_number(input.params.n)', "slack"),
        ('default allow := false\nallow if input.tool == "slack"', "slack"),
        ('deny if input.tool == "slack"\ndeny if input.tool == "shell"', "slack explicit"),
        ("allow if false", ""),
        ('host := input.params.host\ndeny if { input.tool == "slack"; host == 7 }', "slack"),
        # … and where something before the condition might raise, or the name means something else, it is not.
        ('deny if { to_number(input.params.n) > 1; input.tool == "slack" }', "read merge slack explicit"),
        ('deny if { some x in input.params.list; input.tool == "slack" }', "read merge slack explicit"),
        ('default allow := true\nallow := false if input.tool == "slack"', "read merge slack explicit"),
        ('default deny := "no"\ndeny if input.tool == "slack"', "read merge slack explicit"),
        ('allow if input.tool == "slack" else := true', "read merge slack explicit"),
        ('deny[m] if { input.tool == "slack"; m := "x" }', "read merge slack explicit"),
        ('allow contains "x" if input.tool == "slack"', "read merge slack explicit"),
        ('mine(t) if t == "slack"\ndeny if mine(input.tool)', "read merge slack explicit"),
        ('deny if { input.tool == "slack" with input as {"tool": "slack"} }', "read merge slack explicit"),
        ('deny if { some mine; mine = "x"; input.tool == "slack" }\nmine if false', "read merge slack explicit"),
        ('deny if { every input in [{"tool": "slack"}] { input.tool == "slack" } }', "read merge slack explicit"),
        ('deny if data.t.p.mine\nmine if input.tool == "slack"', "read merge slack explicit"),
        ('deny if { data.other.x; input.tool == "slack" }', "slack"),
        ('not_mine := input.tool != "slack"\ndeny if not not_mine', "slack"),
        ('deny if input[_] == "slack"', "read merge slack explicit"),
        # Tests in the policy's own file are no part of what it says, unless something else refers to them.
        ('deny if input.tool == "slack"\ntest_it if { deny with input as {"tool": "slack"} }', "slack"),
        ('deny if input.tool == "slack"\ntodo_test_it if { deny with input.tool as "slack" }', "slack"),
        (
            'deny if { input.tool == "slack"; test_it }\ntest_it if { it with input as {} }\nit := true',
            "read merge slack explicit",
        ),
        (
            'deny if { input.tool == "slack"; data.t.p.test_it }\ntest_it if { it with input as {} }\nit := true',
            "read merge slack explicit",
        ),
        ('deny if { input.tool == "slack"; it with input as {} }\nit := true', "read merge slack explicit"),
        # Behind not, a call, a comparison or `in` of a missing member is undefined; a reference and == are not.
        ('other if not input.http.host in {"slack.com"}\ndeny if not other', "slack explicit"),
        ('other if not input.http.host != "slack.com"\ndeny if not other', "read merge explicit"),
        ('other if not input.http.host == "slack.com"\ndeny if not other', "slack"),
        ("other if not input.http.host\ndeny if not other", "read merge slack explicit"),
        ('other if not input.http.host < "a"\ndeny if not other', "read merge slack explicit"),
        ('other if not (input.http.host != "slack.com") == true\ndeny if not other', "read merge slack explicit"),
        ('other if not input.tool in {"slack"}\ndeny if not other', "slack"),
        ('tools := {"slack"}\nother if not input.tool in tools\ndeny if not other', "slack"),
        ('other if not input.tool in {"slack", input.params.x}\ndeny if not other', "read merge slack explicit"),
    ],
)
def test_which_calls_concern_a_policy(rules: str, concerned: str) -> None:
    concerns = conditions(rules).concerns
    found = {name for name, call in CALLS.items() if concerns.holds(call)}
    expected = set(concerned.split())
    if rules.startswith("not_mine") or "data.other" in rules:
        assert found >= expected  # nothing is promised, but nobody may be missing
    else:
        assert found == expected


def test_a_package_that_a_data_document_would_hide_is_refused() -> None:
    with pytest.raises(PolicyRefusedError, match="data"):
        compile_policy('package allowlist\nimport rego.v1\ndeny if input.tool == "slack"', DATA)


# Pieces of policies that are put together at random: sound conditions, unsound ones, what may raise, what loops.
ATOMS = [
    'input.tool == "a"',
    '"b" == input.tool',
    'input.tool != "a"',
    'input.operation in {"x", "y"}',
    "input.operation in names",
    'input.action.tool == "a"',
    'input.action.operation != "x"',
    'input.http.host == "h"',
    'input.http.host != "h"',
    'input.http.method in ["GET", 1]',
    "input.http",
    "input.http.host",
    'input.tool = "a"',
    "input.params.flag",
    "input.params.flag == true",
    "to_number(input.params.n) > 1",
    "x := to_number(input.params.n)",
    "y := input.tool",
    'z := input.tool == "a"',
    "some v in input.params.list",
    "some w in input.params.list; to_number(w) > 0",
    "every e in input.params.list { to_number(e) > 0 }",
    'input.params.list[_] == "1"',
    "helper",
    "other",
    "valued",
    "valued == 2",
    "chosen",
    "members",
    "members.m",
    "count(members) > 0",
    "count(members) == 0",
    "count(members) != 0",
    "count(members) >= 1",
    "false",
    "true",
    "data.allowlist.destinations",
    '"h" in data.allowlist.destinations',
    "called(input.tool)",
    "[1, helper] == [1, true]",
    "{to_number(input.params.n)} == {1}",
    "[q | q := to_number(input.params.n)] == [1]",
    'input.tool == "a" with input.tool as "a"',
    "input.tool == names",
    'input.http.host in {"h", "k"}',
    'input.http.host < "k"',
    '(input.http.host != "h") == true',
    "unhosted",
    "foreign",
]
# What may stand behind `not`: no declarations, and no more than one expression.
NEGATABLE = [atom for atom in ATOMS if not any(word in atom for word in (":=", "some ", "every ", ";", " with "))]

statements = st.one_of(st.sampled_from(ATOMS), st.sampled_from(NEGATABLE).map(lambda atom: f"not {atom}"))
GUARDS = [*ATOMS[:10], "helper", "not helper", "other", 'not input.operation == "x"', "valued"]
bodies = st.builds(
    lambda guards, lines: "{ " + "; ".join(dict.fromkeys([*guards, *lines])) + " }",
    st.lists(st.sampled_from(GUARDS), min_size=1, max_size=2) | st.just([]),
    st.lists(statements, min_size=1, max_size=2),
)
values = st.sampled_from(
    ["", ":= true", ":= false", ':= "m"', ":= to_number(input.params.n)", ':= input.tool == "a"', ":= null"]
)


def rules_of(name: str) -> st.SearchStrategy[str]:
    complete = st.tuples(values, bodies).map(lambda made: f"{name} {made[0]} if {made[1]}")
    chained = st.tuples(values, bodies, values.filter(bool), bodies).map(
        lambda made: f"{name} {made[0]} if {made[1]} else {made[2]} if {made[3]}"
    )
    final = st.tuples(bodies, values.filter(bool)).map(lambda made: f"{name} if {made[0]} else {made[1]}")
    keys = st.sampled_from(['"m"', "input.tool", "input.missing", "to_number(input.params.n)"])
    members = st.tuples(keys, bodies).map(lambda made: f"{name} contains {made[0]} if {made[1]}")
    default = st.sampled_from(["false", "true", '"m"', "[]"]).map(lambda value: f"default {name} := {value}")
    constant = st.sampled_from([f"{name} := true", f"{name} := false", f'{name} := input.tool == "b"'])
    whole = st.lists(st.one_of(complete, chained, final, default, constant), min_size=1, max_size=2)
    partial = st.lists(members, min_size=1, max_size=2)
    return st.one_of(whole, partial).map("\n".join)


def some_of(*names: str) -> st.SearchStrategy[str]:
    return st.tuples(*(st.one_of(st.just(""), rules_of(name)) for name in names)).map("\n".join)


HELPERS = """
names := {"x", "z"}
called(tool) if tool == "a"
helper if { input.tool == "a" }
other if { not helper; input.operation == "y" }
valued := 2 if { input.http.host == "h" }
chosen := false if { input.tool == "b" } else := true
unhosted if { not input.http.host in {"h"} }
foreign if { not input.http.host != "k" }
members contains "m" if { input.operation == "x" }
members contains input.params.n if { input.tool == "b" }
"""
TESTS = """
test_helper if { helper with input as {"tool": "a"} }
test_valued if { not valued with input.http.host as "k" }
"""
policies = st.builds(
    lambda tests, verdicts, extras: f"{HELPERS}\n{tests}\n{verdicts}\n{extras}",
    st.sampled_from(["", TESTS]),
    some_of("deny", "require_approval", "allow"),
    some_of("reason", "risk_level", "approval", "capture"),
)

calls = st.builds(
    CallKey,
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["x", "y", "w"]),
    st.sampled_from(["h", "k", None]),
    st.sampled_from(["GET", "PUT"]),
)
parameters = st.fixed_dictionaries(
    {},
    optional={
        "n": st.sampled_from(["1", "2", "many", 3, None]),
        "flag": st.booleans(),
        "list": st.sampled_from([[], ["1"], ["1", "many"], "text"]),
    },
)


def input_of(call: CallKey, params: object, *, repeats_action: bool) -> bytes:
    document: dict[str, object] = {"tool": call.tool, "operation": call.operation, "params": params}
    if call.host is not None:
        document["http"] = {"host": call.host, "method": call.method}
    if repeats_action:
        document["action"] = dict(document)
    return json.dumps(document).encode()


def ask(engine: regorus.Policy, document: regorus.Input) -> bytes:
    """The answer, or the error that is the policy's own: the time limit counts the machine's pauses too."""
    for _ in range(10):
        try:
            return engine.decide(document)
        except regorus.EvaluationError as error:
            if error.kind != "time_limit":
                raise
    raise AssertionError("none of these policies takes long")


@settings(max_examples=400, deadline=None)
@given(policies, st.lists(st.tuples(calls, parameters, st.booleans()), min_size=1, max_size=6))
def test_leaving_out_changes_nothing(rules: str, asked: list[tuple[CallKey, object, bool]]) -> None:
    try:
        policy = compile_policy(HEAD + rules, DATA)
    except PolicyRefusedError:
        return
    for call, params, repeats_action in asked:
        key = call if call.host is not None else call._replace(method=None)
        document = regorus.Input(input_of(call, params, repeats_action=repeats_action))
        try:
            answer = json.loads(ask(policy.engine, document))
        except regorus.EvaluationError:
            assert policy.conditions.concerns.holds(key)
            continue
        for verdict, speaks in policy.conditions.speaks.items():
            if answer.get(verdict.value) not in (None, False, []) or (verdict == "allow" and answer.get("allow") == []):
                assert speaks.holds(key)
                assert policy.conditions.concerns.holds(key)
