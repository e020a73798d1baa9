"""The camelCase shape: what each condition means, in Rego that compiles without a warning."""

from collections.abc import Callable
from typing import Any

import pytest

from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import ValidationError
from headgate.policies.compile import compile_policy
from headgate.policies.evaluate import PolicySet
from headgate.policies.formula import CallKey
from headgate.policies.lint import lint
from headgate.policies.model import RulePolicy
from headgate.policies.rule_shape import parse_rules
from headgate.policies.translate_rules import translate

DATA = b'{"allowlist":{}}'


def rule(**fields: Any) -> dict[str, Any]:
    return {"name": "One", "priority": 1, "decision": "deny", "conditions": {}} | fields


def condition(field: str, operator: str, *value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"field": field, "operator": operator}
    return found | ({"value": value[0]} if value else {})


def group(*conditions: dict[str, Any], operator: str = "all") -> dict[str, Any]:
    return {"operator": operator, "conditions": list(conditions)}


@pytest.fixture
def decide(rule_policy: Callable[..., RulePolicy]) -> Callable[..., str | None]:
    def decided(rules: list[dict[str, Any]], **call: Any) -> str | None:
        text = translate("My policy!", parse_rules(rules)[0])
        compiled = compile_policy(text, DATA)
        assert lint(compiled.engine.ast(), text, compiled.conditions, compiled.data.roots) == (), text
        document = {"tool": "mail", "operation": "send", "params": {}, "context": {}} | call
        decision = PolicySet([rule_policy(text)], DATA).decide_asking_all(canonical_bytes(document))
        assert not any(one.error for one in decision.spoken), decision
        return decision.verdict.value if decision.spoken else None

    return decided


@pytest.mark.parametrize(
    ("operator", "value", "holds", "fails"),
    [
        ("equals", 5, [5, 5.0], ["5", 6, None, [5]]),
        ("eq", None, [None], [0, False]),
        ("notEquals", "a", ["b", 1, None, ...], ["a"]),
        ("greaterThan", 5, [6, 5.1], [5, "9", None, [9], True]),
        ("gte", 5, [5], [4, "5"]),
        ("lessThan", 5, [4, -1], [5, None, False]),
        ("lte", 5, [5], [6]),
        ("in", ["a", 1], ["a", 1], ["b", "1", None]),
        ("notIn", ["a"], ["b", None, ...], ["a"]),
        ("contains", "a", ["bab", ["a"]], ["b", ["ab"], {"a": 1}, 7]),
        ("startsWith", "ab", ["abc"], ["cab", ["ab"], 7]),
        ("endsWith", "ab", ["cab"], ["abc", None]),
        ("matches", "^a+$", ["aa"], ["ab", 1]),
        ("exists", None, [0, False, None, ""], []),
        ("notExists", None, [...], [0, False, None]),
    ],
)
def test_what_an_operator_means(
    decide: Callable[..., str | None], operator: str, value: Any, holds: list[Any], fails: list[Any]
) -> None:
    one = condition("params.x", operator) if operator.endswith("xists") else condition("params.x", operator, value)
    rules = [rule(conditions={"conditionGroups": [group(one)]})]
    # ``...`` stands for a field that is not there.
    for given in [*holds, *fails, None, ...]:
        params = {} if given is ... else {"x": given}
        expected = "deny" if any(given == one and type(given) is type(one) for one in holds) else None
        assert decide(rules, params=params) == expected, given


@pytest.mark.parametrize("combined", ["all", "any"])
@pytest.mark.parametrize(
    ("operator", "value", "holds"),
    [
        ("equals", [1], False),
        ("notEquals", [1], True),
        ("in", [1], False),
        ("notIn", [1], True),
        ("greaterThan", 1, False),
        ("contains", "a", False),
        ("startsWith", "a", False),
        ("matches", "a", False),
        ("exists", None, False),
        ("notExists", None, True),
    ],
)
def test_a_field_below_what_is_no_object_is_not_there(
    decide: Callable[..., str | None], operator: str, value: Any, holds: bool, combined: str
) -> None:
    one = condition("params.x.y", operator) if operator.endswith("xists") else condition("params.x.y", operator, value)
    other = condition("params.z", "equals", 1)
    rules = [rule(conditions={"conditionGroups": [group(one, other, operator=combined)]})]
    for params in ({}, {"x": None}, {"x": "a"}, {"x": [{"y": 1}]}, {"x": {}}):
        assert (decide(rules, params=params) == "deny") == (holds and combined == "any"), params
        assert (decide(rules, params=params | {"z": 1}) == "deny") == (holds or combined == "any"), params


def test_tools_and_operations_by_name_list_and_prefix(decide: Callable[..., str | None]) -> None:
    for conditions, verdict in (
        ({"tool": "mail"}, "deny"),
        ({"tool": "mail", "operation": "receive"}, None),
        ({"tool": ["chat", "mail"], "operation": "*"}, "deny"),
        ({"operation": "se*"}, "deny"),
        ({"operation": ["re*", "send"]}, "deny"),
        ({"operation": ["re*", "del*"]}, None),
        ({}, "deny"),
    ):
        assert decide([rule(conditions=conditions)]) == verdict, conditions


def test_groups_all_hold_and_within_one_all_or_any(decide: Callable[..., str | None]) -> None:
    a, b = condition("params.a", "equals", 1), condition("context.b-c", "gt", 2)
    both = [rule(conditions={"conditionGroups": [group(a), group(b)]})]
    either = [rule(conditions={"conditionGroups": [group(a, b, operator="OR")]})]
    short = [rule(conditions={"conditionGroups": [{"params.a": 1, "context.b-c": 3}]})]
    for params, context, expected in (
        ({"a": 1}, {"b-c": 3}, ("deny", "deny", "deny")),
        ({"a": 1}, {}, (None, "deny", None)),
        ({}, {"b-c": 3}, (None, "deny", None)),
        ({}, {}, (None, None, None)),
    ):
        found = tuple(decide(one, params=params, context=context) for one in (both, either, short))
        assert found == expected


def test_the_first_priority_that_holds_decides_and_the_strictest_within_it(decide: Callable[..., str | None]) -> None:
    rules = [
        rule(name="Late", priority=30, decision="deny"),
        rule(name="Ask", priority=20, decision="require_approval", conditions={"tool": "chat"}),
        rule(name="Go", priority=20, decision="allow", conditions={"tool": ["chat", "mail"]}),
        rule(name="Off", priority=1, decision="deny", enabled=False),
        rule(name="Early", priority=10, decision="allow", conditions={"tool": "log"}),
    ]
    assert decide(rules, tool="mail") == "allow"
    assert decide(rules, tool="chat") == "require_approval"
    assert decide(rules, tool="log") == "allow"
    assert decide(rules, tool="other") == "deny"


def test_the_text_is_readable_and_keeps_the_index_useful() -> None:
    rules, kept = parse_rules(
        [
            rule(name='No "deletes"\nhere', conditions={"tool": "db", "operation": "delete"})
            | {"name": 'No "deletes"'},
            rule(name="Reads", priority=5, decision="allow", conditions={"tool": "db"}),
        ]
    )
    text = translate("Data base", rules)
    assert text == (
        "# Data base\n#\n# Made from rules in the camelCase shape: change those, or this text and lose them.\n"
        "package headgate.rules.p_data_base\n\nimport rego.v1\n\n"
        '# 1: No "deletes"\nrule_1 if {\n\tinput.tool == "db"\n\tinput.operation == "delete"\n}\n\n'
        '# 5: Reads\nrule_2 if {\n\tinput.tool == "db"\n}\n\n'
        "decided_before_5 if rule_1\n\n"
        'deny contains "No \\"deletes\\"" if rule_1\n\n'
        "allow if {\n\trule_2\n\tnot decided_before_5\n}\n"
    )
    assert [one["id"] for one in kept if isinstance(one, dict)] == ["rule_1", "rule_2"]
    conditions = compile_policy(text, DATA).conditions
    assert not conditions.concerns.holds(CallKey("mail", "send", None, None))


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ([], "1 to 100 rules"),
        ([1], "rules[0] must be an object"),
        ([rule(name="")], "rules[0].name"),
        ([rule(name="a\nb")], "no control characters"),
        ([rule(priority=-1)], "rules[0].priority"),
        ([rule(priority=True)], "rules[0].priority"),
        ([rule(decision="maybe")], "allow, deny or require_approval"),
        ([rule(conditions={"tools": "a"})], "rules[0].conditions.tools: unknown"),
        ([rule(conditions={"tool": "GitHub"})], "is not a valid name"),
        ([rule(conditions={"conditionGroups": [{}]})], "1 to 20 conditions"),
        ([rule(conditions={"conditionGroups": [group(condition("params.x", "like", 1))]})], "operator: unknown"),
        ([rule(conditions={"conditionGroups": [group(condition("params.x", "gt", "1"))]})], "a number is required"),
        ([rule(conditions={"conditionGroups": [group(condition("params.x", "in", "1"))]})], "a list is required"),
        ([rule(conditions={"conditionGroups": [group(condition("params.x", "exists", 1))]})], "take none"),
        ([rule(conditions={"conditionGroups": [group(condition("params.x", "equals"))]})], "takes one"),
        ([rule(conditions={"conditionGroups": [{"params x": 1}]})], "a path such as"),
        (
            [rule(conditions={"conditionGroups": [{"param.x": 1}]})],
            "no request has this member; did you mean input.params.x? known: tool, ",
        ),
        ([rule(conditions={"conditionGroups": [group(operator="xor")]})], "all (and) or any (or)"),
        ([rule(id="a"), rule(id="a")], "the id of another rule"),
        ([rule(when="now")], "rules[0].when: unknown"),
    ],
)
def test_what_is_malformed_is_named(rules: list[Any], says: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        parse_rules(rules)
    assert says in refusal.value.message
