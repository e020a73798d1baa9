"""Whether a policy's answer can differ between two calls of one agent that differ in nothing but their params.

Read from the policy's syntax tree. Wherever the tree leaves a doubt, the answer is that params matter.
"""

import json
from collections import defaultdict
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.model import Verdict
from headgate.policies.tree import Mention, UnknownSyntaxError, mentions
from headgate.policies.written_rules import local_names, package_path, policy_tree, written_rules

_OF_THE_KIND: Final = frozenset(
    {("tool",), ("operation",), ("effect",), ("source",), ("agent",), ("connection",)}
    | {("http", name) for name in ("method", "scheme", "host", "port", "path", "query", "headers", "url_bytes")}
    | {("http", name) for name in ("body_kind", "body_size", "body_type_mismatch")}
    | {("mcp", name) for name in ("method", "name", "tool_changed")}
)
"""What the calls of one tool have in common. ``body_size`` is among them because the smallest possible call is asked
about: hardly a policy denies small bodies and allows large ones."""
_UNSETTLED: Final = frozenset({"time", "rand", "uuid", "opa", "http", "net", "io"})
"""Packages of builtins that answer differently from one call to the next."""
_MODULES_ROOT: Final = "lib"
_DENY: Final = Verdict.DENY.value


class ParamsUse(Struct, frozen=True):
    """What reads nothing but what the calls of one tool have in common. ``denials_ignore``: ``deny`` and all that it
    refers to; ``all_ignores``: the whole policy."""

    denials_ignore: bool
    all_ignores: bool


READS_PARAMS: Final = ParamsUse(denials_ignore=False, all_ignores=False)


def params_use(ast: bytes, text: str) -> ParamsUse:
    """Of the policy ``text``. ``ast`` is the engine's tree of it. A shared module may read anything."""
    try:
        tree = policy_tree(json.loads(ast), text)
        if "input" in local_names(tree) or not _ignores(tree["imports"]):
            return READS_PARAMS
        if _ignores(tree["rules"]):
            return ParamsUse(denials_ignore=True, all_ignores=True)
        return ParamsUse(denials_ignore=all(map(_ignores, _reached_from_deny(tree))), all_ignores=False)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, UnknownSyntaxError):
        return READS_PARAMS


def _ignores(part: JsonValue) -> bool:
    return all(map(_is_of_the_kind, mentions(part)))


def _reached_from_deny(tree: JsonObject) -> list[JsonValue]:
    """``deny``, and every rule that it may refer to. Raises UnknownSyntaxError where that may be any."""
    package, by_name = package_path(tree), defaultdict[str, list[JsonValue]](list)
    for rule in written_rules(tree):
        by_name[rule.name].append(rule.node)
    reached, pending = {_DENY}, [_DENY]
    while pending:
        for mention in mentions(by_name[pending.pop()]):
            name = mention.root
            if name == "data":
                if mention.path[: len(package)] != package[: len(mention.path)]:
                    continue  # a document
                if len(mention.path) <= len(package):
                    raise UnknownSyntaxError("data is read as a whole: any rule may be used")
                name = mention.path[len(package)]
            if name in by_name and name not in reached:
                reached.add(name)
                pending.append(name)
    return [node for name in reached for node in by_name[name]]


def _is_of_the_kind(mention: Mention) -> bool:
    if mention.root == "input":
        path = mention.path[1:] if mention.path[:1] == ("action",) else mention.path
        return path[:1] in _OF_THE_KIND or path[:2] in _OF_THE_KIND
    if mention.root == "data":
        return bool(mention.path) and mention.path[0] != _MODULES_ROOT
    return mention.root not in _UNSETTLED
