"""Reads the engine's syntax tree for the lint: a policy's package, its rules by name, and the names bound in it."""

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.tree import Place, UnknownSyntaxError, mentions, nodes, place_of, reference, tree_object


def policy_tree(tree: JsonValue, text: str) -> JsonObject:
    if isinstance(tree, list):
        [tree] = [one["ast"] for one in tree if isinstance(one, dict) and _contents(one) == text]
    if not isinstance(tree, dict):
        raise UnknownSyntaxError("the engine's syntax tree is no object")
    return tree


def _contents(module: JsonObject) -> JsonValue:
    source = module["source"]
    return source["contents"] if isinstance(source, dict) else None


class WrittenRule(Struct, frozen=True):
    name: str
    node: JsonObject
    place: Place
    is_default: bool


def written_rules(tree: JsonObject) -> list[WrittenRule]:
    rules: list[WrittenRule] = []
    written = tree["rules"]
    for one in written if isinstance(written, list) else []:
        if not isinstance(one, dict):
            continue
        [(kind, node)] = one.items()
        if not isinstance(node, dict):
            continue
        head = node if kind == "Default" else next(iter(tree_object(node["head"]).values()))
        name = next(mentions([tree_object(head)["refr"]])).root
        rules.append(WrittenRule(name, node, place_of(node), kind == "Default"))
    return rules


def package_path(tree: JsonObject) -> tuple[str, ...]:
    package = reference(tree_object(tree["package"])["refr"])
    if package is None:
        raise UnknownSyntaxError("the package's name is not constant")
    return (package.root, *package.path)


def local_names(tree: JsonObject) -> frozenset[str]:
    """Names bound by ``:=``, ``=``, ``some … in``, or as parameters."""
    assigned: list[JsonValue] = []
    walked_or_given: list[JsonValue] = []
    for kind, node in nodes(tree["rules"], "AssignExpr", "SomeIn", "Func"):
        match kind:
            case "AssignExpr":
                assigned += (node["lhs"], node["rhs"])
            case "SomeIn":
                walked_or_given += (node["key"], node["value"])
            case _:
                walked_or_given.append(node["args"])
    return frozenset(
        one.root for one in mentions(assigned) if not one.path and one.root not in {"input", "data"}
    ) | frozenset(one.root for one in mentions(walked_or_given) if not one.path)
