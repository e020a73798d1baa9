"""Finds the rules that a decision may evaluate: all except tests that no other rule refers to.

The engine evaluates a rule when something refers to it, and a decision reads ``deny``, ``require_approval``, ``allow``
and the members that explain them. Tests may be in a policy's own file (as with ``opa test``), and their ``with``
replacements would keep the index from any conclusion about the rest.
"""

from collections.abc import Iterator
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.tree import Mention, mentions

TEST_PREFIX: Final = "test_"
SKIPPED_TEST_PREFIX: Final = "todo_test_"


def decision_rules(tree: JsonObject, package: tuple[str, ...]) -> list[JsonValue]:
    """The nodes of the rules that a decision may evaluate; all rules if a test may be reached in another way."""
    written = tree["rules"]
    if not isinstance(written, list):
        return [written]
    others = [rule for rule in written if not _is_test(rule)]
    tests = {_name(rule) for rule in written if _is_test(rule)}
    reached = any(
        one.root in tests or _reaches_package(one, package) for one in mentions([*others, tree.get("imports")])
    )
    return written if reached else others


def _reaches_package(mention: Mention, package: tuple[str, ...]) -> bool:
    length = min(len(mention.path), len(package))
    return mention.root == "data" and mention.path[:length] == package[:length]


def _is_test(rule: JsonValue) -> bool:
    return _name(rule).startswith((TEST_PREFIX, SKIPPED_TEST_PREFIX))


def _name(rule: JsonValue) -> str:
    """The first name in the rule's head; empty if the tree has another shape."""
    return next((mention.root for mention in _heads(rule)), "")


def _heads(rule: JsonValue) -> Iterator[Mention]:
    if not isinstance(rule, dict):
        return
    for kind, node in rule.items():
        head = node if kind == "Default" else node.get("head") if isinstance(node, dict) else None
        for part in [head] if kind == "Default" else head.values() if isinstance(head, dict) else []:
            if isinstance(part, dict):
                yield from mentions(part["refr"])
