"""Whether a policy's answer can differ between two calls of one agent that differ in nothing but their params.

Read from the policy's syntax tree. Wherever the tree leaves a doubt, the answer is that params matter.
"""

import json
from typing import Final

from headgate.policies.tree import Mention, UnknownSyntaxError, mentions
from headgate.policies.written_rules import local_names, policy_tree

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


def ignores_params(ast: bytes, text: str) -> bool:
    """Whether nothing in the policy ``text`` reads more than the calls of one tool have in common. ``ast`` is the
    engine's tree of it. A shared module may read anything."""
    try:
        tree = policy_tree(json.loads(ast), text)
        if "input" in local_names(tree):
            return False
        return all(map(_is_of_the_kind, mentions([tree["imports"], tree["rules"]])))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, UnknownSyntaxError):
        return False


def _is_of_the_kind(mention: Mention) -> bool:
    if mention.root == "input":
        path = mention.path[1:] if mention.path[:1] == ("action",) else mention.path
        return path[:1] in _OF_THE_KIND or path[:2] in _OF_THE_KIND
    if mention.root == "data":
        return bool(mention.path) and mention.path[0] != _MODULES_ROOT
    return mention.root not in _UNSETTLED
