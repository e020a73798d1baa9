"""Finds constant approval terms that are invalid: ``approval := {"required_aprovals": 2}``.

Such a policy would deny every call that it should hold, and its author would learn the reason only then.
"""

from collections.abc import Iterator

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.answer_values import AnswerError
from headgate.policies.terms import check_member, check_members, parse_terms
from headgate.policies.tree import Place, place_of

_LITERALS = frozenset({"String", "RawString", "Bool", "Number"})


class NotConstantError(Exception):
    """Part of the expression is known only for a concrete call."""


def impossible_terms(value: JsonValue) -> Iterator[tuple[str, Place]]:
    """``value`` is the expression that a rule ``approval`` is given: what is wrong with it, and where."""
    if not isinstance(value, dict):
        return
    [(kind, node)] = value.items()
    if kind != "Object" or not isinstance(node, dict) or not isinstance(node["fields"], list):
        return
    wrong = list(_members(node["fields"]))
    yield from wrong
    if wrong:
        return
    try:
        parse_terms(constant_value(value))
    except NotConstantError:
        return
    except AnswerError as error:
        yield str(error), place_of(node)


def _members(fields: list[JsonValue]) -> Iterator[tuple[str, Place]]:
    """What each of them is by itself, as far as it is constant."""
    for field in fields:
        if not isinstance(field, list):
            continue
        _, key, member = field
        try:
            name = constant_value(key)
            place = _place(key)
            if not isinstance(name, str):
                continue
            check_members({name})
            check_member(name, constant_value(member))
        except NotConstantError:
            continue
        except AnswerError as error:
            yield str(error), place


def _place(expression: JsonValue) -> Place:
    if isinstance(expression, dict):
        for node in expression.values():
            if isinstance(node, dict):
                return place_of(node)
    return Place(1, 1)


def constant_value(expression: JsonValue) -> JsonValue:
    if not isinstance(expression, dict):
        raise NotConstantError
    [(kind, node)] = expression.items()
    if not isinstance(node, dict):
        raise NotConstantError
    if kind in _LITERALS:
        return node["value"]
    if kind in {"Array", "Set"} and isinstance(node["items"], list):
        return [constant_value(item) for item in node["items"]]
    if kind == "Object" and isinstance(node["fields"], list):
        return _object(node["fields"])
    raise NotConstantError


def _object(fields: list[JsonValue]) -> JsonObject:
    members: JsonObject = {}
    for field in fields:
        if not isinstance(field, list):
            raise NotConstantError
        _, key, value = field
        name = constant_value(key)
        if not isinstance(name, str):
            raise NotConstantError
        members[name] = constant_value(value)
    return members
