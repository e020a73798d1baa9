"""Finds comparisons of a call's names with values that such a name cannot have: ``input.tool == "GitHub"``."""

import re
from collections.abc import Iterator
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.tree import Place, constant, nodes, place_of, reference

_NAME: Final = (
    re.compile(r"[a-z][a-z0-9_]{0,63}"),
    "lower-case letters, digits and underscores, beginning with a letter",
)
_POSSIBLE: Final = {
    ("tool",): _NAME,
    ("operation",): _NAME,
    ("http", "method"): (re.compile(r"[A-Z][A-Z0-9_-]{0,31}"), "upper-case letters, as in GET"),
    ("http", "host"): (re.compile(r"[a-z0-9_.:-]{1,253}"), "lower case and without a scheme, path or trailing dot"),
    ("http", "scheme"): (re.compile(r"https?"), "http or https"),
    ("effect",): (re.compile(r"read|write|destructive"), "read, write or destructive (or null)"),
    ("source",): (re.compile(r"proxy|api"), "proxy or api"),
}


def impossible_values(rules: JsonValue) -> Iterator[tuple[str, Place]]:
    """Describes the error in each such comparison, and its place."""
    for kind, node in nodes(rules, "BoolExpr", "Membership", "AssignExpr"):
        if kind == "Membership":
            yield from _membership(node)
        elif node["op"] in {"Eq", "Ne"}:
            for one, other in ((node["lhs"], node["rhs"]), (node["rhs"], node["lhs"])):
                yield from _compared(one, [other])


def _membership(node: JsonObject) -> Iterator[tuple[str, Place]]:
    collection = node["collection"]
    if not isinstance(collection, dict):
        return
    [(kind, literal)] = collection.items()
    if kind in {"Array", "Set"} and isinstance(literal, dict) and isinstance(literal["items"], list):
        yield from _compared(node["value"], literal["items"])


def _compared(expression: JsonValue, values: list[JsonValue]) -> Iterator[tuple[str, Place]]:
    mention = reference(expression)
    if mention is None or mention.root != "input":
        return
    path = mention.path[1:] if mention.path[:1] == ("action",) else mention.path
    if path not in _POSSIBLE:
        return
    pattern, expected = _POSSIBLE[path]
    for one in values:
        value = constant(one)
        if isinstance(value, str) and (pattern.fullmatch(value) is None or value.endswith(".")):
            written = ".".join(("input", *mention.path))
            yield f'{written} is never "{value[:80]}": it is {expected}', _place(one, mention.place)


def _place(literal: JsonValue, otherwise: Place) -> Place:
    if isinstance(literal, dict):
        node = next(iter(literal.values()))
        if isinstance(node, dict):
            return place_of(node)
    return otherwise
