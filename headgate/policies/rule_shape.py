"""The camelCase shape of a policy: rules with conditions, as the specification names them ("Rule policy").

docs/reference/policies.md defines what the specification leaves open. A rule holds if its tool and operation match the
call and every group of conditions holds. A group holds if all, or any, of its conditions hold. Rules run in ascending
priority. The first priority at which any rule holds decides, and within it the strictest rule.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.configuration.yaml_document import Section
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.policies.input_shape import unknown_part
from headgate.policies.model import Verdict

RULES_MAX: Final = 100
_CONDITIONS_MAX: Final = 20
_NAME_MAX_CHARACTERS: Final = 255
_PRIORITY_MAX: Final = 1_000_000
_PATH: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,63}){0,7}")
_TOOL: Final = re.compile(r"[a-z][a-z0-9_]{0,63}\*?|\*")


class Operator(StrEnum):
    """How a field is compared with a value. Each operator requires the field and a fitting type, except
    ``NOT_EQUALS``, ``NOT_IN`` and ``NOT_EXISTS``, which hold for an absent field."""

    EQUALS = "equals"
    NOT_EQUALS = "notEquals"
    GREATER_THAN = "greaterThan"
    GREATER_THAN_OR_EQUALS = "greaterThanOrEquals"
    LESS_THAN = "lessThan"
    LESS_THAN_OR_EQUALS = "lessThanOrEquals"
    IN = "in"
    NOT_IN = "notIn"
    CONTAINS = "contains"
    STARTS_WITH = "startsWith"
    ENDS_WITH = "endsWith"
    MATCHES = "matches"
    EXISTS = "exists"
    NOT_EXISTS = "notExists"


_SHORT: Final = {
    "eq": Operator.EQUALS,
    "ne": Operator.NOT_EQUALS,
    "gt": Operator.GREATER_THAN,
    "gte": Operator.GREATER_THAN_OR_EQUALS,
    "lt": Operator.LESS_THAN,
    "lte": Operator.LESS_THAN_OR_EQUALS,
}
NUMBERS: Final = frozenset(
    {
        Operator.GREATER_THAN,
        Operator.GREATER_THAN_OR_EQUALS,
        Operator.LESS_THAN,
        Operator.LESS_THAN_OR_EQUALS,
    }
)
_TEXTS: Final = frozenset({Operator.STARTS_WITH, Operator.ENDS_WITH, Operator.MATCHES})
_LISTS: Final = frozenset({Operator.IN, Operator.NOT_IN})
_NO_VALUE: Final = frozenset({Operator.EXISTS, Operator.NOT_EXISTS})


class Condition(Struct, frozen=True):
    """``field`` is a path below ``input``."""

    field: tuple[str, ...]
    operator: Operator
    value: JsonValue


class ConditionGroup(Struct, frozen=True):
    """``any_of``: one condition suffices; otherwise all must hold."""

    conditions: tuple[Condition, ...]
    any_of: bool


class ShapedRule(Struct, frozen=True):
    """``tools`` and ``operations`` empty: any. A name that ends in ``*`` matches all names with that prefix."""

    name: str
    priority: int
    decision: Verdict
    tools: tuple[str, ...]
    operations: tuple[str, ...]
    groups: tuple[ConditionGroup, ...]
    enabled: bool


def parse_rules(value: JsonValue) -> tuple[list[ShapedRule], list[JsonValue]]:
    """Parses the rules, and returns them with their stored form: with an id and ``enabled`` each.

    Raises ValidationError, which names the rule and the member.
    """
    if not isinstance(value, list) or not 1 <= len(value) <= RULES_MAX:
        raise ValidationError(
            f"rules must be a list of 1 to {RULES_MAX} rules", details={"field": "rules", "reason": "not such a list"}
        )
    rules: list[ShapedRule] = []
    kept: list[JsonValue] = []
    ids: set[str] = set()
    for position, one in enumerate(value):
        if not isinstance(one, dict):
            raise ValidationError(
                f"rules[{position}] must be an object",
                details={"field": f"rules[{position}]", "reason": "not an object"},
            )
        section = Section(f"rules[{position}]", one)
        rules.append(_rule(section))
        rule_id = section.text("id", f"rule_{position + 1}")
        if rule_id in ids:
            raise section.fail("id", f"{rule_id} is the id of another rule")
        ids.add(rule_id)
        whole: JsonObject = {**one, "id": rule_id, "enabled": one.get("enabled", True)}
        kept.append(whole)
    return rules, kept


def _rule(section: Section) -> ShapedRule:
    section.only("id", "name", "priority", "decision", "conditions", "enabled")
    name = section.text("name")
    if len(name) > _NAME_MAX_CHARACTERS or any(ord(one) < 0x20 for one in name):
        raise section.fail("name", f"at most {_NAME_MAX_CHARACTERS} characters, no control characters")
    priority, enabled = section.members.get("priority"), section.members.get("enabled", True)
    if isinstance(priority, bool) or not isinstance(priority, int) or not 0 <= priority <= _PRIORITY_MAX:
        raise section.fail("priority", f"a whole number from 0 to {_PRIORITY_MAX} is required")
    if not isinstance(enabled, bool):
        raise section.fail("enabled", "true or false is required")
    decision = section.text("decision")
    if decision not in {one.value for one in Verdict}:
        raise section.fail("decision", "allow, deny or require_approval is required")
    conditions = section.section("conditions")
    conditions.only("tool", "operation", "conditionGroups")
    return ShapedRule(
        name,
        priority,
        Verdict(decision),
        _names(conditions, "tool"),
        _names(conditions, "operation"),
        tuple(_group(one) for one in conditions.sections("conditionGroups")),
        enabled,
    )


def _names(section: Section, key: str) -> tuple[str, ...]:
    names = section.strings(key)
    for name in names:
        if _TOOL.fullmatch(name) is None:
            raise section.fail(
                key, f"{name[:64]!r} is not a valid name: use lower-case letters, digits and _, with * only at the end"
            )
    return () if "*" in names else tuple(names)


def _group(section: Section) -> ConditionGroup:
    """``{operator: all | any, conditions: […]}``, or the short form ``{field: value, …}``: all are equal."""
    if "conditions" not in section.members:
        equal = [Condition(_path(section, field), Operator.EQUALS, value) for field, value in section.members.items()]
        return ConditionGroup(_bounded(section, equal), any_of=False)
    section.only("operator", "conditions")
    operator = section.text("operator", "all").lower()
    if operator not in {"all", "any", "and", "or"}:
        raise section.fail("operator", "all (and) or any (or) is required")
    conditions = [_condition(one) for one in section.sections("conditions")]
    return ConditionGroup(_bounded(section, conditions), any_of=operator in {"any", "or"})


def _bounded(section: Section, conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    if not 1 <= len(conditions) <= _CONDITIONS_MAX:
        raise section.fail("conditions", f"1 to {_CONDITIONS_MAX} conditions are required")
    return tuple(conditions)


def _condition(section: Section) -> Condition:
    section.only("field", "operator", "value")
    named = section.text("operator", Operator.EQUALS.value)
    operator = _SHORT.get(named) or next((one for one in Operator if one.value == named), None)
    if operator is None:
        raise section.fail("operator", f"unknown; known here: {', '.join(Operator)}")
    value = section.members.get("value")
    if ("value" in section.members) == (operator in _NO_VALUE):
        raise section.fail("value", "exists and notExists take none, every other operator takes one")
    if operator in NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise section.fail("value", "a number is required")
    if operator in _TEXTS and not isinstance(value, str):
        raise section.fail("value", "a text is required")
    if operator in _LISTS and not isinstance(value, list):
        raise section.fail("value", "a list is required")
    return Condition(_path(section, section.text("field")), operator, value)


def _path(section: Section, field: str) -> tuple[str, ...]:
    if _PATH.fullmatch(field) is None:
        raise section.fail(field[:64], "a path such as params.amount is required")
    path = tuple(field.removeprefix("input.").split("."))
    unknown = unknown_part(path)
    if unknown is not None:
        meant = f"did you mean {unknown.nearest}? " if unknown.nearest else ""
        known = ", ".join(unknown.there) or "none"
        raise section.fail(field, f"no request has this member; {meant}known: {known}")
    return path
