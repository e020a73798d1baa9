"""Warns about probable mistakes in a policy that compiles; a warning never prevents saving.

Works on the engine's syntax tree (regorus 0.14, ``ast.rs``), in the child that tries a policy; each finding names its
line and column.
"""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.conditions import Conditions, dead_bodies
from headgate.policies.decision_rules import SKIPPED_TEST_PREFIX, TEST_PREFIX
from headgate.policies.formula import can_hold_together
from headgate.policies.impossible import impossible_values
from headgate.policies.input_shape import unknown_part
from headgate.policies.missing_members import asks_what_body_is, missing_members
from headgate.policies.model import Verdict
from headgate.policies.parse_syntax import parse_module
from headgate.policies.terms_lint import impossible_terms
from headgate.policies.tree import (
    Mention,
    Place,
    UnknownSyntaxError,
    character_column,
    constant,
    mentions,
    nodes,
    place_of,
    reference,
    tree_object,
)
from headgate.policies.written_rules import local_names, package_path, policy_tree, written_rules

_ASKED: Final = (*(verdict.value for verdict in Verdict), "reason", "risk_level", "approval", "capture")
_FINDINGS_MAX: Final = 20
_BODY: Final = ("params", "body")
_BODY_FACTS: Final = frozenset({("http", "body_kind"), ("http", "body_type_mismatch")})
_MODULES_ROOT: Final = "lib"
_COST: Final = "cost_usd"
_PRICE_KNOWN: Final = "price_known"


class FindingCode(StrEnum):
    """The kind of mistake; a published name is never changed."""

    SAYS_NOTHING = "says_nothing"
    UNKNOWN_INPUT = "unknown_input"
    UNKNOWN_DATA = "unknown_data"
    IMPOSSIBLE_VALUE = "impossible_value"
    UNREACHABLE_RULE = "unreachable_rule"
    UNREACHABLE_BODY = "unreachable_body"
    NO_DEFAULT = "no_default"
    APPROVAL_TERMS = "approval_terms"
    UNREAD_BODY = "unread_body"
    UNKNOWN_COST = "unknown_cost"
    MISSING_MEMBER = "missing_member"


class Finding(Struct, frozen=True):
    code: FindingCode
    message: str
    place: Place

    def sentence(self, file: str) -> str:
        return f"{file}:{self.place.line}:{self.place.column}: {self.message}"


def lint(ast: bytes, text: str, conditions: Conditions, data_roots: frozenset[str]) -> tuple[Finding, ...]:
    """Findings in the order of the text, at most twenty. Without a tree that it understands, it returns none: a
    missing finding is better than a wrong one."""
    try:
        tree = policy_tree(json.loads(ast), text)
        found = [
            *_says_nothing(tree, conditions),
            *_unknown_input(tree),
            *_unknown_data(tree, data_roots),
            *impossible_values_of(tree),
            *_unreachable_rules(tree),
            *_unreachable_bodies(tree, ast, text, data_roots),
            *_no_default(tree),
            *_impossible_terms(tree),
            *_unread_body(tree),
            *_unknown_cost(tree),
            *_missing_members(tree),
        ]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, UnknownSyntaxError):
        return ()
    found.sort(key=lambda one: (one.place.line, one.place.column))
    lines = text.split("\n")
    return tuple(_as_written(one, lines) for one in dict.fromkeys(found))[:_FINDINGS_MAX]


def _as_written(finding: Finding, lines: list[str]) -> Finding:
    place = finding.place
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    return replace(finding, place=Place(place.line, character_column(line, place.column)))


def _says_nothing(tree: JsonObject, conditions: Conditions) -> Iterator[Finding]:
    names = {rule.name for rule in written_rules(tree)}
    if not names & {verdict.value for verdict in Verdict}:
        message = "the policy never decides: it has no rule deny, require_approval or allow"
        yield Finding(FindingCode.SAYS_NOTHING, message, Place(1, 1))
    elif not any(can_hold_together(formula) for formula in conditions.speaks.values()):
        message = "the policy never decides: no call satisfies deny, require_approval or allow"
        yield Finding(FindingCode.SAYS_NOTHING, message, Place(1, 1))


def _unknown_input(tree: JsonObject) -> Iterator[Finding]:
    if "input" in local_names(tree):
        return
    for mention in mentions([tree["imports"], tree["rules"]]):
        if mention.root == "input" and (unknown := unknown_part(mention.path)) is not None:
            parent = unknown.written.rpartition(".")[0]
            meant = f" (did you mean {unknown.nearest}?)" if unknown.nearest else ""
            instead = f"{parent} has {', '.join(unknown.there)}" if unknown.there else f"{parent} has no members"
            message = f"{unknown.written} does not exist{meant}: {instead}"
            yield Finding(FindingCode.UNKNOWN_INPUT, message, mention.place)


def _unknown_data(tree: JsonObject, data_roots: frozenset[str]) -> Iterator[Finding]:
    """A deny that reads a missing document never holds, so the call passes."""
    there, own = {*data_roots, _MODULES_ROOT}, package_path(tree)
    for mention in mentions([tree["imports"], tree["rules"]]):
        path = mention.path
        if mention.root != "data" or not path or path[0] in there or path[: len(own)] == own[: len(path)]:
            continue
        if path[0] == own[0]:
            other = ".".join(("data", *path[: len(own)]))
            message = f"{other} does not exist: a policy reads its own package, documents and modules of packages lib.…"
        else:
            message = f"data.{path[0]} does not exist: no document has this path"
        yield Finding(FindingCode.UNKNOWN_DATA, message, mention.place)


def impossible_values_of(tree: JsonObject) -> Iterator[Finding]:
    """Comparisons of the call's names with values that such a name cannot have."""
    if "input" in local_names(tree):
        return
    for message, place in impossible_values(tree["rules"]):
        yield Finding(FindingCode.IMPOSSIBLE_VALUE, message, place)


def _unreachable_rules(tree: JsonObject) -> Iterator[Finding]:
    rules = written_rules(tree)
    names = {rule.name for rule in rules}
    package = package_path(tree)
    reached = {name for name in names if name in _ASKED or name.startswith((TEST_PREFIX, SKIPPED_TEST_PREFIX))}
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
            asked = "deny, require_approval, allow, reason, risk_level, approval and capture"
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


def _unreachable_bodies(tree: JsonObject, ast: bytes, text: str, data_roots: frozenset[str]) -> Iterator[Finding]:
    dead = set(dead_bodies(parse_module(ast, text), data_roots))
    counted: dict[str, int] = {}
    for rule in written_rules(tree):
        if rule.is_default:
            continue
        index = counted.get(rule.name, 0)
        counted[rule.name] = index + 1
        bodies = rule.node["bodies"]
        for number, body in enumerate(bodies if isinstance(bodies, list) else []):
            if (rule.name, index, number) in dead:
                message = f"this body of {rule.name} never holds: no call meets all of its conditions"
                yield Finding(FindingCode.UNREACHABLE_BODY, message, place_of(tree_object(body)))


def _no_default(tree: JsonObject) -> Iterator[Finding]:
    """``allow == false`` without a default for allow: undefined is not false, so the comparison never holds."""
    rules = written_rules(tree)
    without = {rule.name for rule in rules} - {rule.name for rule in rules if rule.is_default} - local_names(tree)
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


def _unread_body(tree: JsonObject) -> Iterator[Finding]:
    """``deny if input.params.body.amount > 9``: a text or opaque body has no such member. The rule does not hold, and
    the call passes. A policy that tests the body's kind avoids this."""
    strict = {Verdict.DENY.value, Verdict.REQUIRE_APPROVAL.value} & {rule.name for rule in written_rules(tree)}
    if "input" in local_names(tree) or not (strict or any(nodes(tree["rules"], "NotExpr"))):
        return
    members: list[Mention] = []
    for mention in mentions([tree["imports"], tree["rules"]]):
        path = mention.path[1:] if mention.path[:1] == ("action",) else mention.path
        if mention.root != "input" or not path:
            continue
        if path in _BODY_FACTS:
            return
        if path[:2] == _BODY and len(path) > 2:
            members.append(mention)
    if any(asks_what_body_is(call) for _, call in nodes(tree["rules"], "Call")):
        return
    for mention in members:
        written = ".".join(("input", *mention.path))
        message = (
            f"{written} is undefined where the body is no JSON, and the rule then does not hold: say what happens to"
            ' such a call, with input.http.body_kind != "json"'
        )
        yield Finding(FindingCode.UNREAD_BODY, message, mention.place)


def _unknown_cost(tree: JsonObject) -> Iterator[Finding]:
    """``deny if input.usage.agent.cost_usd > 9``: without a price the cost is undefined, and the call passes. A policy
    negates a rule for what must hold, or asks whether the price is known."""
    if "input" in local_names(tree):
        return
    negated = {id(node) for _, one in nodes(tree["rules"], "NotExpr") for _, node in nodes(one, "BoolExpr")}
    asks = any(mention.path[-1:] == (_PRICE_KNOWN,) for mention in mentions([tree["imports"], tree["rules"]]))
    if asks:
        return
    for _, node in nodes(tree["rules"], "BoolExpr"):
        above = {("lhs", "Gt"), ("lhs", "Ge"), ("rhs", "Lt"), ("rhs", "Le")}
        for side in ("lhs", "rhs"):
            mention = reference(node[side])
            if mention is None or mention.root != "input" or mention.path[-1:] != (_COST,) or id(node) in negated:
                continue
            if (side, node["op"]) in above:
                message = (
                    f"{'.'.join(('input', *mention.path))} is undefined where the price of a model is not known, and"
                    " the rule then does not hold: negate a rule (`not money_left`, with `money_left if … < …`), or ask"
                    " for input.usage.price_known"
                )
                yield Finding(FindingCode.UNKNOWN_COST, message, mention.place)


def _missing_members(tree: JsonObject) -> Iterator[Finding]:
    if "input" not in local_names(tree):
        for message, place in missing_members(tree):
            yield Finding(FindingCode.MISSING_MEMBER, message, place)


def _impossible_terms(tree: JsonObject) -> Iterator[Finding]:
    for rule in written_rules(tree):
        if rule.name != "approval":
            continue
        head = rule.node["value"] if rule.is_default else next(iter(tree_object(rule.node["head"]).values()))
        if not rule.is_default:
            assigned = tree_object(head).get("assign")
            head = assigned["value"] if isinstance(assigned, dict) else None
        for message, place in impossible_terms(head):
            yield Finding(FindingCode.APPROVAL_TERMS, f"{message}: the policy denies instead of holding", place)
