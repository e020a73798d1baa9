"""Translates rules of the camelCase shape into readable Rego (``rule_shape`` defines their meaning)."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from headgate.kernel.canonical_json import JsonValue
from headgate.policies.model import Verdict
from headgate.policies.rule_shape import NUMBERS, Condition, Operator, ShapedRule

_NOT_IN_A_NAME: Final = re.compile(r"[^a-z0-9]+")
_SIMPLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS: Final = frozenset(
    {"as", "contains", "data", "default", "else", "every", "false", "if", "import", "in", "input", "not", "null"}
    | {"package", "some", "true", "with"}
)
_COMPARISONS: Final = {
    Operator.GREATER_THAN: ">",
    Operator.GREATER_THAN_OR_EQUALS: ">=",
    Operator.LESS_THAN: "<",
    Operator.LESS_THAN_OR_EQUALS: "<=",
}
_NEGATED: Final = {Operator.NOT_IN: Operator.IN, Operator.NOT_EXISTS: Operator.EXISTS}
_INCLUDES: Final = """# A text includes a part of it, a list its members.
includes(whole, part) if {
	is_string(whole)
	is_string(part)
	contains(whole, part)
}

includes(whole, part) if {
	is_array(whole)
	part in whole
}
"""


def translate(name: str, rules: Sequence[ShapedRule]) -> str:
    """The policy's Rego without the disabled rules."""
    enabled = sorted((one for one in rules if one.enabled), key=lambda rule: rule.priority)
    slug = _NOT_IN_A_NAME.sub("_", name.lower()).strip("_") or "policy"
    blocks = [
        f"# {_one_line(name)}\n#\n# Made from rules in the camelCase shape: change those, or this text and lose them.\n"
        f"package headgate.rules.p_{slug[:60]}\n\nimport rego.v1\n"
    ]
    priorities = sorted({one.priority for one in enabled})
    for number, rule in enumerate(enabled, 1):
        blocks += _rule(f"rule_{number}", rule)
    for index, priority in enumerate(priorities[1:], 1):
        earlier = priorities[index - 1]
        blocks += [
            f"decided_before_{priority} if rule_{number}\n"
            for number, rule in enumerate(enabled, 1)
            if rule.priority == earlier
        ]
        if index > 1:
            blocks.append(f"decided_before_{priority} if decided_before_{earlier}\n")
    for number, rule in enumerate(enabled, 1):
        guard = "" if rule.priority == priorities[0] else f"not decided_before_{rule.priority}"
        blocks.append(_verdict(f"rule_{number}", rule, guard))
    if not enabled:
        blocks.append("# No rule is enabled: the policy says nothing.\nallow := false\n")
    if any(
        condition.operator is Operator.CONTAINS
        for rule in enabled
        for group in rule.groups
        for condition in group.conditions
    ):
        blocks.append(_INCLUDES)
    return "\n".join(blocks)


def _rule(key: str, rule: ShapedRule) -> Iterator[str]:
    """``rule_1 if { … }``, and before it a rule for each negated condition, and for each group of which one condition
    is enough."""
    lines: list[str] = [*_names("input.tool", rule.tools, key), *_names("input.operation", rule.operations, key)]
    for position, group in enumerate(rule.groups, 1):
        helper = f"{key}_group_{position}"
        written = [_written(f"{helper}_{number}", one) for number, one in enumerate(group.conditions, 1)]
        yield from (negated for negated, _ in written if negated)
        if group.any_of and len(written) > 1:
            yield from (_helper(helper, condition) for _, condition in written)
            lines.append(helper)
        else:
            lines += [line for _, condition in written for line in condition]
    for field, names in (("input.tool", rule.tools), ("input.operation", rule.operations)):
        if _has_prefixes(names) and len(names) > 1:
            yield from _any_name(_names_helper(key, field), field, names)
    title = f"# {rule.priority}: {_one_line(rule.name)}\n"
    body = "".join(f"\t{line}\n" for line in lines)
    yield f"{title}{key} if {{\n{body}}}\n" if lines else f"{title}{key} := true\n"


def _names(field: str, names: Sequence[str], key: str) -> Iterator[str]:
    if not names:
        return
    if _has_prefixes(names):
        yield _name(field, names[0]) if len(names) == 1 else _names_helper(key, field)
    elif len(names) == 1:
        yield f"{field} == {_literal(names[0])}"
    else:
        yield f"{field} in {{{', '.join(_literal(one) for one in names)}}}"


def _has_prefixes(names: Sequence[str]) -> bool:
    return any(one.endswith("*") for one in names)


def _names_helper(key: str, field: str) -> str:
    return f"{key}_{field.removeprefix('input.')}"


def _any_name(helper: str, field: str, names: Sequence[str]) -> Iterator[str]:
    for one in names:
        yield f"{helper} if {_name(field, one)}\n"


def _name(field: str, name: str) -> str:
    return f"startswith({field}, {_literal(name[:-1])})" if name.endswith("*") else f"{field} == {_literal(name)}"


def _helper(name: str, lines: Sequence[str]) -> str:
    if len(lines) == 1:
        return f"{name} if {lines[0]}\n"
    return f"{name} if {{\n{''.join(f'	{line}\n' for line in lines)}}}\n"


def _written(helper: str, condition: Condition) -> tuple[str, list[str]]:
    """The rule that the condition negates, or an empty text; and the lines of the condition.

    ``not input.params.x in [1]`` is undefined without the member; ``not helper`` holds.
    """
    positive = _NEGATED.get(condition.operator)
    if positive is None:
        return "", list(_condition(condition))
    return _helper(helper, list(_condition(replace(condition, operator=positive)))), [f"not {helper}"]


def _condition(condition: Condition) -> Iterator[str]:
    field, value = _reference(condition.field), condition.value
    match condition.operator:
        case Operator.EQUALS:
            yield f"{field} == {_literal(value)}"
        case Operator.NOT_EQUALS:
            # OPA evaluates no reference before a negated ==: without the field, the negation holds.
            yield f"not {field} == {_literal(value)}"
        case Operator.IN:
            yield f"{field} in {_literal(value)}"
        case Operator.CONTAINS:
            yield f"includes({field}, {_literal(value)})"
        case Operator.STARTS_WITH | Operator.ENDS_WITH:
            yield f"is_string({field})"
            yield f"{condition.operator.value.lower()}({field}, {_literal(value)})"
        case Operator.MATCHES:
            yield f"is_string({field})"
            yield f"regex.match({_literal(value)}, {field})"
        case Operator.EXISTS:
            yield f"_ = {field}"
        case operator if operator in NUMBERS:
            # In Rego every text is greater than every number.
            yield f"is_number({field})"
            yield f"{field} {_COMPARISONS[operator]} {_literal(value)}"


def _reference(path: Sequence[str]) -> str:
    written = "input"
    for part in path:
        is_simple = _SIMPLE_NAME.fullmatch(part) is not None and part not in _KEYWORDS
        written += f".{part}" if is_simple else f"[{_literal(part)}]"
    return written


def _verdict(key: str, rule: ShapedRule, guard: str) -> str:
    head = "allow" if rule.decision is Verdict.ALLOW else f"{rule.decision.value} contains {_literal(rule.name)}"
    return f"{head} if {{\n\t{key}\n\t{guard}\n}}\n" if guard else f"{head} if {key}\n"


def _literal(value: JsonValue) -> str:
    """A JSON value is a Rego term as it stands."""
    return json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    return " ".join(text.split())
