"""Finds the rule of a policy's source that made its verdict, for people who ask why. Pure.

A verdict names no rule. The rule is known where the package has only one of that name, or where exactly one of them has
the recorded reason as its constant message. Otherwise it is not known, and nothing is returned.
"""

import json

from msgspec import Struct

from headgate.kernel.canonical_json import JsonValue
from headgate.policies.tree import UnknownSyntaxError, tree_object
from headgate.policies.written_rules import WrittenRule, policy_tree, written_rules


class DecidingRule(Struct, frozen=True):
    """``line`` and ``last_line`` count from 1; ``text`` is the source from one to the other."""

    line: int
    last_line: int
    text: str


def deciding_rule(ast: bytes, source: str, verdict: str, reason: str | None) -> DecidingRule | None:
    """``verdict`` is the rule's name, ``reason`` what the policy said. None: not known."""
    try:
        rules = [one for one in written_rules(policy_tree(json.loads(ast), source)) if _may_give(one, verdict)]
        if len(rules) > 1:
            rules = [one for one in rules if reason is not None and _message(one) in (reason, *reason.split("; "))]
        return _shown(rules[0], source) if len(rules) == 1 else None
    except (UnknownSyntaxError, KeyError, TypeError, ValueError, StopIteration, RecursionError):
        return None


def _may_give(rule: WrittenRule, verdict: str) -> bool:
    """A default of false gives no verdict."""
    if rule.name != verdict or not rule.is_default:
        return rule.name == verdict
    constant = tree_object(rule.node["value"]).get("Bool")
    return not (isinstance(constant, dict) and constant["value"] is False)


def _message(rule: WrittenRule) -> JsonValue:
    """The constant that a rule of messages adds; None for any other."""
    if rule.is_default:
        return None
    key = tree_object(tree_object(tree_object(rule.node["head"]).get("Set") or {}).get("key") or {})
    for kind in ("String", "RawString"):
        if isinstance(constant := key.get(kind), dict):
            return constant["value"]
    return None


def _shown(rule: WrittenRule, source: str) -> DecidingRule:
    content = source.encode()
    span = tree_object(rule.node["span"])
    start, end = int(str(span["start"])), int(str(span["end"]))
    # The engine's span of a rule ends before the brace that closes its body.
    rest = content[end:]
    if rest.lstrip()[:1] == b"}":
        end += rest.index(b"}") + 1
    first, last = content[:start].count(b"\n") + 1, content[:end].count(b"\n") + 1
    return DecidingRule(first, last, "\n".join(source.split("\n")[first - 1 : last]))
