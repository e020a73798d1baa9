"""Finds, by the text, the rules that a passed test depends on: ``with`` hides the inner evaluation from the outside."""

import json
from collections.abc import Iterable

from headgate.policies.tree import Mention, mentions


def rules_reached_by(ast: bytes, text: str, tests: Iterable[str]) -> set[str]:
    """The rules that these refer to, directly or indirectly."""
    tree = json.loads(ast)
    if isinstance(tree, list):
        [tree] = [one["ast"] for one in tree if one["source"]["contents"] == text]
    package = next(mentions([tree["package"]["refr"]]))
    path = (package.root, *package.path)
    uses: dict[str, set[str]] = {}
    for rule in tree["rules"]:
        [(kind, node)] = rule.items()
        head = node if kind == "Default" else next(iter(node["head"].values()))
        name = next(mentions([head["refr"]])).root
        uses.setdefault(name, set()).update(_named(one, path) for one in mentions(node))
    reached: set[str] = set()
    pending = list(tests)
    while pending:
        current = pending.pop()
        for name in uses.get(current, set()) & uses.keys():
            if name not in reached:
                reached.add(name)
                pending.append(name)
    return reached


def _named(mention: Mention, package: tuple[str, ...]) -> str:
    """The rule of this package that a reference names, if it names one."""
    is_full = mention.root == "data" and mention.path[: len(package)] == package and len(mention.path) > len(package)
    return mention.path[len(package)] if is_full else mention.root
