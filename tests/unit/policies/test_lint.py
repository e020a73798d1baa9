"""What is probably not meant is said with its place; what is meant is not."""

import pytest

from headgate.policies.compile import compile_policy
from headgate.policies.lint import lint

HEAD = "package t\nimport rego.v1\n"
DATA = b'{"allowlist":{},"limits":{}}'


def findings(rules: str) -> list[tuple[str, int, str]]:
    text = HEAD + rules
    compiled = compile_policy(text, DATA)
    return [
        (one.code.value, one.place.line, one.message)
        for one in lint(compiled.engine.ast(), text, compiled.conditions, compiled.data.roots)
    ]


@pytest.mark.parametrize(
    ("rules", "code", "line", "says"),
    [
        ("x := 1", "says_nothing", 1, "no rule deny, require_approval or allow"),
        ("allow := false", "says_nothing", 1, "no call"),
        *(
            (f"require_approval := true\n{rule}", "approval_terms", 4, says)
            for rule, says in (
                ('approval := {"required_aprovals": 2}', "approval has no member 'required_aprovals'"),
                ('approval := {"assignees": {input.params.who}, "hold_seconds": -1}', "approval.hold_seconds must be"),
                ('default approval := {"roles": ["Security"]}', "names no group"),
                ('approval := {"assignees": ["a@b.example"], "required_approvals": 2} if input.tool == "a"', "only 1"),
            )
        ),
        ("deny if input.params.n > data.limit.hard", "unknown_data", 3, "data.limit does not exist"),
        ("import data.limit\ndeny if input.params.n > limit.hard", "unknown_data", 3, "data.limit does not exist"),
        (
            'allow if input.tol == "a"',
            "unknown_input",
            3,
            "input.tol does not exist (did you mean input.tool?): input has",
        ),
        (
            'allow if input.htp.host == "a"',
            "unknown_input",
            3,
            "input.htp does not exist (did you mean input.http.host?)",
        ),
        ('allow if input.htp.hots == "a"', "unknown_input", 3, "input.htp does not exist (did you mean input.http?)"),
        ("allow if input.parms.a.b", "unknown_input", 3, "input.parms does not exist (did you mean input.params.a.b?)"),
        ("allow if input.http.xyz", "unknown_input", 3, "input.http.xyz does not exist: input.http has method"),
        ('allow if input.action.http.hosts == "a"', "unknown_input", 3, "input.action.http.hosts"),
        ('allow if input["http"]["hostname"]', "unknown_input", 3, "input.http.hostname"),
        ("allow if input.tool.name", "unknown_input", 3, "input.tool has no members"),
        ("import input.param\nallow if param.x", "unknown_input", 3, "input.param does not exist"),
        ('allow if startswith(input.agent.mail, "a")', "unknown_input", 3, "input.agent.mail"),
        ('allow if input.tool == "GitHub"', "impossible_value", 3, 'input.tool is never "GitHub"'),
        ('allow if input.http.method in {"GET", "post"}', "impossible_value", 3, 'input.http.method is never "post"'),
        ('allow if input.http.host == "https://a.example"', "impossible_value", 3, "without a scheme"),
        ('allow if "web" == input.source', "impossible_value", 3, "it is proxy or api"),
        ("allow := true\nhelper if input.params.x", "unreachable_rule", 4, "the rule helper is never used"),
        ("allow := true\nf(x) := g(x)\ng(x) := x", "unreachable_rule", 4, "the rule f is never used"),
        ('allow if { input.tool == "a"; input.tool == "b" }', "unreachable_body", 3, "this body of allow never holds"),
        ("deny if input.params.body.amount > 9", "unread_body", 3, "input.params.body.amount is undefined where"),
        ('deny if input.action.params.body["a"] > 9', "unread_body", 3, "input.action.params.body.a is undefined"),
        ("deny if input.usage.agent.cost_usd > 9", "unknown_cost", 3, "input.usage.agent.cost_usd is undefined where"),
        ("deny if 9 <= input.usage.model.cost_usd", "unknown_cost", 3, "input.usage.price_known"),
        ("allow if not input.params.body.amount > 9", "unread_body", 3, 'input.http.body_kind != "json"'),
        *(
            (rule, "missing_member", line, f"{member} may be missing: this negation is then undefined, and {name} does")
            for rule, line, member, name in (
                ('deny if not startswith(input.params.to, "a")', 3, "input.params.to", "deny"),
                ('deny if not input.params.to in ["a"]', 3, "input.params.to", "deny"),
                ('deny if not input.action.params.to in ["a"]', 3, "input.action.params.to", "deny"),
                ("require_approval if not input.context.n > 1", 3, "input.context.n", "require_approval"),
                ('deny if not input.params.to != "a"', 3, "input.params.to", "deny"),
                ('deny if not lower(input.params.to) == "a"', 3, "input.params.to", "deny"),
                ('deny if not input.http.host in ["a"]', 3, "input.http.host", "deny"),
                ("deny if not input.usage.agent.cost_usd < 5", 3, "input.usage.agent.cost_usd", "deny"),
                ("deny if bad\nbad if not known(input.params.to)\nknown(x) := x", 4, "input.params.to", "bad"),
                ("deny if not good\ngood if not bad\nbad if not input.params.n > 1", 5, "input.params.n", "bad"),
                ('deny if { some x in input.params.xs; not x.kind in ["a"] }', 3, "x.kind", "deny"),
                ('deny if not contains(input.params.body, "a")', 3, "input.params.body", "deny"),
                ("deny if not is_number(input.params.n)", 3, "input.params.n", "deny"),
                ("deny if { input.params.a; not input.params.b > 1 }", 3, "input.params.b", "deny"),
            )
        ),
        ("deny if ok == false\nok if input.params.x", "no_default", 3, "write `default ok := false`"),
        ("deny if ok != true\nok if input.params.x", "no_default", 3, "or `not ok`"),
    ],
)
def test_what_is_probably_not_meant_is_said(rules: str, code: str, line: int, says: str) -> None:
    found = findings(rules)
    assert [one for one in found if one[0] == code and one[1] == line and says in one[2]], found


@pytest.mark.parametrize(
    "rules",
    [
        'allow if input.tool == "github"',
        "default allow := false\nallow if input.params.anything.at.all[_].x",
        "deny if ok == false\ndefault ok := false\nok if input.params.x",
        "deny if not ok\nok if input.params.x",
        "deny contains m if { some k, v in input.params; v == 1; m := k }",
        "deny if data.t.helper\nhelper if input.params.x",
        'allow if input.action.tool == "a"\nrisk_level := level\nlevel := "low"',
        "allow if f(input.context.x)\nf(input_text) := input_text == 1",
        "deny if { some x in data.limits.hosts; x == input.http.host }",
        'allow if input.http.headers["x-a"]\ntest_allow if { allow with input as {"http": {"headers": {"x-a": 1}}} }',
        'allow if input.effect == null\ndeny if input.effect != "read"',
        "import input.params as p\nallow if p.x",
        'deny if input.params.body.amount > 9\ndeny if input.http.body_kind != "json"',
        "deny if input.params.body.amount > 9\ndeny if not is_object(input.params.body)",
        'allow if input.params.body.kind == "a"',
        'deny if contains(input.params.body, "x")',
        "allow if { every x in input.params.list { x > 1 } }",
        # No deny is lost: == compares references, or what holds the other way is negated, or nothing can be missing.
        'deny if not input.params.to == "a"',
        "deny if not input.params.to",
        'deny if not startswith(input.tool, "a")',
        'deny if not object.get(input.params, "to", "") in ["a"]',
        "deny if not count([x | some x in input.params.xs]) > 1",
        'deny if not known\nknown if input.params.to in ["a"]',
        'deny if not known\nknown if not input.params.to in ["a"]',
        'allow if not startswith(input.params.to, "a")',
        # The rule requires the member, or the part of the call that has it.
        'deny if { is_string(input.params.to); not startswith(input.params.to, "a") }',
        'deny contains m if { not startswith(input.params.to, "a"); m := sprintf("to %v", [input.params.to]) }',
        'deny if { input.http; not input.http.host in ["a"] }',
        'deny if { input.package.action == "install"; not input.package.name in ["a"] }',
        # Another rule asks whether it is missing.
        'deny if not startswith(input.params.to, "a")\ndeny if not input.params.to',
        'deny if not input.http.host in ["a"]\nrequire_approval if not input.http',
        "deny if { some one in data.limits.rules; not one.max > 5 }",
    ],
)
def test_what_is_meant_is_not_complained_of(rules: str) -> None:
    assert findings(rules) == []


def test_what_another_package_says_is_not_there_for_a_policy() -> None:
    text = "package team.b\nimport data.team.a\nallow if a.allow\ndeny if data.team.b.never\nnever if input.params.x\n"
    compiled = compile_policy(text, DATA)
    found = lint(compiled.engine.ast(), text, compiled.conditions, compiled.data.roots)
    assert [(one.code.value, one.place.line, one.message) for one in found] == [
        (
            "unknown_data",
            2,
            "data.team.a does not exist: a policy reads its own package, documents and modules of packages lib.…",
        )
    ]


def test_the_same_mistake_in_two_places_is_told_twice_and_in_order() -> None:
    found = findings("deny if input.b\nallow if {\n  input.a\n  input.a\n}")
    assert [(line, message.split()[0]) for _, line, message in found] == [
        (3, "input.b"),
        (5, "input.a"),
        (6, "input.a"),
    ]
