"""What is probably not meant in a policy that compiles: said when it is saved, and never in the way.

Over the engine's own syntax tree (regorus 0.14, ``ast.rs``), in the child that tries a policy; each finding names
its line and column.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.conditions import Conditions, dead_bodies
from headgate.policies.formula import can_hold_together
from headgate.policies.impossible import impossible_values
from headgate.policies.input_shape import unknown_part
from headgate.policies.model import Verdict
from headgate.policies.parse_syntax import UnknownSyntaxError, parse_module
from headgate.policies.tree import Place, constant, mentions, nodes, place_of, reference

_ASKED: Final = (*(verdict.value for verdict in Verdict), "reason", "risk_level", "approval")
_TEST_PREFIX: Final = "test_"
_FINDINGS_MAX: Final = 20


class FindingCode(StrEnum):
    """What kind of mistake it probably is; once published, never renamed."""

    SAYS_NOTHING = "says_nothing"
    UNKNOWN_INPUT = "unknown_input"
    IMPOSSIBLE_VALUE = "impossible_value"
    UNREACHABLE_RULE = "unreachable_rule"
    UNREACHABLE_BODY = "unreachable_body"
    NO_DEFAULT = "no_default"


@dataclass(frozen=True, slots=True)
class Finding:
    code: FindingCode
    message: str
    place: Place

    def sentence(self, file: str) -> str:
        return f"{file}:{self.place.line}:{self.place.column}: {self.message}"


def lint(ast: bytes, text: str, conditions: Conditions, data_roots: frozenset[str]) -> tuple[Finding, ...]:
    """In the order of the text; at most twenty. Nothing where the tree is not understood: no finding is better
    than a wrong one."""
    try:
        tree = _module_of(json.loads(ast), text)
        found = [
            *_says_nothing(tree, conditions),
            *_unknown_input(tree),
            *impossible_values_of(tree),
            *_unreachable_rules(tree),
            *_unreachable_bodies(tree, ast, text, data_roots),
            *_no_default(tree),
        ]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, UnknownSyntaxError):
        return ()
    found.sort(key=lambda one: (one.place.line, one.place.column))
    return tuple(dict.fromkeys(found))[:_FINDINGS_MAX]


def _module_of(tree: JsonValue, text: str) -> JsonObject:
    if isinstance(tree, list):
        [tree] = [one["ast"] for one in tree if isinstance(one, dict) and _contents(one) == text]
    if not isinstance(tree, dict):
        raise UnknownSyntaxError("the engine's syntax tree is no object")
    return tree


def _contents(module: JsonObject) -> JsonValue:
    source = module["source"]
    return source["contents"] if isinstance(source, dict) else None


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    node: JsonObject
    place: Place
    is_default: bool


def _rules(tree: JsonObject) -> list[_Rule]:
    rules: list[_Rule] = []
    written = tree["rules"]
    for one in written if isinstance(written, list) else []:
        if not isinstance(one, dict):
            continue
        [(kind, node)] = one.items()
        if not isinstance(node, dict):
            continue
        head = node if kind == "Default" else next(iter(_object(node["head"]).values()))
        name = next(mentions([_object(head)["refr"]])).root
        rules.append(_Rule(name, node, place_of(node), kind == "Default"))
    return rules


def _says_nothing(tree: JsonObject, conditions: Conditions) -> Iterator[Finding]:
    names = {rule.name for rule in _rules(tree)}
    if not names & {verdict.value for verdict in Verdict}:
        message = "the policy never says anything: it has no rule deny, require_approval or allow"
        yield Finding(FindingCode.SAYS_NOTHING, message, Place(1, 1))
    elif not any(can_hold_together(formula) for formula in conditions.speaks.values()):
        message = "the policy never says anything: there is no call for which deny, require_approval or allow hold"
        yield Finding(FindingCode.SAYS_NOTHING, message, Place(1, 1))


def _unknown_input(tree: JsonObject) -> Iterator[Finding]:
    if "input" in _local_names(tree):
        return
    for mention in mentions([tree["imports"], tree["rules"]]):
        if mention.root == "input" and (unknown := unknown_part(mention.path)) is not None:
            written, there = unknown
            parent = written.rpartition(".")[0]
            instead = f"{parent} has {', '.join(there)}" if there else f"{parent} has no members"
            yield Finding(FindingCode.UNKNOWN_INPUT, f"{written} is never there: {instead}", mention.place)


def impossible_values_of(tree: JsonObject) -> Iterator[Finding]:
    """Comparisons of the call's names with what such a name cannot be."""
    if "input" in _local_names(tree):
        return
    for message, place in impossible_values(tree["rules"]):
        yield Finding(FindingCode.IMPOSSIBLE_VALUE, message, place)


def _unreachable_rules(tree: JsonObject) -> Iterator[Finding]:
    rules = _rules(tree)
    names = {rule.name for rule in rules}
    package = _path_of_package(tree)
    reached = {name for name in names if name in _ASKED or name.startswith(_TEST_PREFIX)}
    pending = list(reached)
    while pending:
        current = pending.pop()
        for rule in rules:
            if rule.name == current:
                used = set(_used(rule.node, package)) & names
                pending.extend(used - reached)
                reached |= used
    for rule in rules:
        if rule.name not in reached:
            asked = "deny, require_approval, allow, reason, risk_level and approval"
            message = f"the rule {rule.name} is never used: neither {asked} nor a test depends on it"
            yield Finding(FindingCode.UNREACHABLE_RULE, message, rule.place)


def _used(node: JsonValue, package: tuple[str, ...]) -> Iterator[str]:
    for mention in mentions(node):
        if mention.root != "data":
            yield mention.root
        elif mention.path[: len(package)] == package and len(mention.path) > len(package):
            yield mention.path[len(package)]
        elif package[: len(mention.path)] == mention.path:
            raise UnknownSyntaxError("data is read as a whole: any rule may be used")


def _path_of_package(tree: JsonObject) -> tuple[str, ...]:
    package = reference(_object(tree["package"])["refr"])
    if package is None:
        raise UnknownSyntaxError("the package's name is not constant")
    return (package.root, *package.path)


def _unreachable_bodies(tree: JsonObject, ast: bytes, text: str, data_roots: frozenset[str]) -> Iterator[Finding]:
    dead = set(dead_bodies(parse_module(ast, text), data_roots))
    counted: dict[str, int] = {}
    for rule in _rules(tree):
        if rule.is_default:
            continue
        index = counted.get(rule.name, 0)
        counted[rule.name] = index + 1
        bodies = rule.node["bodies"]
        for number, body in enumerate(bodies if isinstance(bodies, list) else []):
            if (rule.name, index, number) in dead:
                message = f"this body of {rule.name} never holds: no call meets all of its conditions"
                yield Finding(FindingCode.UNREACHABLE_BODY, message, place_of(_object(body)))


def _no_default(tree: JsonObject) -> Iterator[Finding]:
    """``allow == false`` where allow has no default: undefined is not false, so that never holds."""
    rules = _rules(tree)
    without = {rule.name for rule in rules} - {rule.name for rule in rules if rule.is_default} - _local_names(tree)
    for _, node in nodes(tree["rules"], "BoolExpr"):
        for one, other in ((node["lhs"], node["rhs"]), (node["rhs"], node["lhs"])):
            mention, value = reference(one), constant(other)
            if mention is None or mention.path or mention.root not in without:
                continue
            if (node["op"], value) in {("Eq", False), ("Ne", True)} and isinstance(value, bool):
                message = (
                    f"{mention.root} has no default, so that it is undefined rather than false where it does not hold:"
                    f" write `default {mention.root} := false`, or `not {mention.root}`"
                )
                yield Finding(FindingCode.NO_DEFAULT, message, mention.place)


def _local_names(tree: JsonObject) -> frozenset[str]:
    """Names that are bound somewhere: by ``:=``, ``=``, ``some … in``, or as parameters."""
    assigned: Iterable[JsonValue] = [
        part for _, node in nodes(tree["rules"], "AssignExpr") for part in (node["lhs"], node["rhs"])
    ]
    walked = [part for _, node in nodes(tree["rules"], "SomeIn") for part in (node["key"], node["value"])]
    parameters = [node["args"] for _, node in nodes(tree["rules"], "Func")]
    bound = mentions([*assigned, *walked, *parameters])
    return frozenset(one.root for one in bound if not one.path and one.root not in {"input", "data"}) | frozenset(
        one.root for one in mentions([*walked, *parameters]) if not one.path
    )


def _object(tree: JsonValue) -> JsonObject:
    if not isinstance(tree, dict):
        raise UnknownSyntaxError(f"expected an object, got {type(tree).__name__}")
    return tree
