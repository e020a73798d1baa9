"""Finds negations that a missing member makes undefined, where a deny or a hold depends on them.

``deny if not endswith(input.params.to, "@corp.example")`` does not hold without ``to``: operands are evaluated before
the negation, and an undefined one leaves the statement undefined.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.model import Verdict
from headgate.policies.tree import Mention, Place, mentions, nodes, reference
from headgate.policies.written_rules import WrittenRule, local_names, written_rules

_STRICT: Final = (Verdict.DENY.value, Verdict.REQUIRE_APPROVAL.value)
_NEGATION: Final = "NotExpr"
_REFERENCES: Final = frozenset({"Var", "RefDot", "RefBrack"})
_COMPREHENSIONS: Final = ("ArrayCompr", "SetCompr", "ObjectCompr")
_ALWAYS_THERE: Final = frozenset(
    {(name,) for name in ("tool", "operation", "effect", "source", "agent", "params", "context", "delegation")}
    | {("agent", "id"), ("agent", "name")}
)
_ANY_MEMBERS: Final = frozenset({"params", "context", "delegation", "session", "provenance"})
"""Parts of the call whose members are independent. Those of ``http`` or ``llm`` are mostly there together."""
_COST: Final = "cost_usd"
_BODY: Final = ("params", "body")
_TYPE_CHECKS: Final = frozenset({"is_object", "is_array", "is_string"})


def missing_members(tree: JsonObject) -> Iterator[tuple[str, Place]]:
    """The message and the place of each such member. Silent where the same rule requires the member, or where a rule
    asks whether it is missing (``not input.params.to``)."""
    rules = written_rules(tree)
    names = local_names(tree) - _names_of_documents(tree)
    asked = [_plain(one) for _, negation in nodes(tree["rules"], _NEGATION) if (one := reference(negation["expr"]))]
    for rule in _strict_rules(rules):
        required = [_plain(one) for one in mentions(_without(rule.node, _NEGATION))]
        for _, negation in nodes(rule.node, _NEGATION):
            for written in _operands(negation["expr"]):
                member = _plain(written)
                if not _may_be_missing(member, names) or any(_is_within(member, one) for one in asked):
                    continue
                if not any(_is_within(one, _required(member)) for one in required):
                    yield _message(written, rule.name), written.place


def _message(mention: Mention, rule: str) -> str:
    written = ".".join((mention.root, *mention.path))
    return (
        f"{written} may be missing: this negation is then undefined, and {rule} does not hold. Negate a rule"
        f" (`not known`, with `known if …`), or write another rule for `not {written}`"
    )


def _strict_rules(rules: Sequence[WrittenRule]) -> Iterator[WrittenRule]:
    """Rules that a deny or a hold needs to hold: referred to without a negation, or with two."""
    reached: set[tuple[str, bool]] = set()
    pending = [(name, True) for name in _STRICT]
    while pending:
        current = pending.pop()
        if current in reached:
            continue
        reached.add(current)
        name, is_needed = current
        for rule in rules:
            if rule.name == name:
                pending += [(one.root, is_needed) for one in mentions(_without(rule.node, _NEGATION))]
                for _, negation in nodes(rule.node, _NEGATION):
                    pending += [(one.root, not is_needed) for one in mentions(negation)]
    return (rule for rule in rules if (rule.name, True) in reached and not rule.is_default)


def _operands(negated: JsonValue) -> Iterator[Mention]:
    """Operands that are evaluated before the negation, and may be undefined. References that ``==`` compares are not
    evaluated before it, and a comprehension always has a value."""
    [(kind, node)] = negated.items() if isinstance(negated, dict) else [("", None)]
    if kind in _REFERENCES or kind in _COMPREHENSIONS or not isinstance(node, dict):
        return
    if kind == "Call" and asks_what_body_is(node):
        return
    is_equality = (kind, node.get("op")) == ("BoolExpr", "Eq") or kind == "AssignExpr"
    parts = [node["lhs"], node["rhs"]] if is_equality else [node]
    for part in parts:
        if not (is_equality and isinstance(part, dict) and part.keys() & _REFERENCES):
            yield from mentions(_without(part, *_COMPREHENSIONS))


def asks_what_body_is(call: JsonObject) -> bool:
    """``is_object(input.params.body)``. A call without a body has none of its members either."""
    asked = reference(call["fcn"])
    arguments = call["params"]
    if asked is None or asked.root not in _TYPE_CHECKS or not isinstance(arguments, list):
        return False
    return any(one is not None and one.path[-2:] == _BODY for one in map(reference, arguments))


def _may_be_missing(mention: Mention, names: frozenset[str]) -> bool:
    if mention.root == "input":
        return bool(mention.path) and mention.path not in _ALWAYS_THERE
    return bool(mention.path) and mention.root in names


def _required(member: Mention) -> Mention:
    """The member itself, or the part of the call that has it. If a rule requires that, the member is most likely
    there."""
    is_alone = member.root != "input" or member.path[0] in _ANY_MEMBERS or member.path[-1] == _COST
    return member if is_alone else replace(member, path=member.path[:1])


def _is_within(member: Mention, container: Mention) -> bool:
    return member.root == container.root and member.path[: len(container.path)] == container.path


def _names_of_documents(tree: JsonObject) -> frozenset[str]:
    """Names of members of data documents, whose authors know which are there."""
    walked = [node for _, node in nodes(tree["rules"], "SomeIn")]
    of_documents = [node for node in walked if {one.root for one in mentions(node["collection"])} == {"data"}]
    return frozenset(one.root for node in of_documents for one in mentions([node["key"], node["value"]]))


def _without(tree: JsonValue, *kinds: str) -> JsonValue:
    if isinstance(tree, list):
        return [_without(part, *kinds) for part in tree]
    if isinstance(tree, dict):
        return {name: _without(part, *kinds) for name, part in tree.items() if name not in kinds}
    return tree


def _plain(mention: Mention) -> Mention:
    """``input.action`` repeats the members of the call."""
    is_repeated = mention.root == "input" and mention.path[:1] == ("action",)
    return replace(mention, path=mention.path[1:]) if is_repeated else mention
