"""The engine's syntax tree, parsed at the edge into the few shapes of ``syntax``.

The engine (regorus 0.14, ``ast.rs``) writes it as serde does: one-member objects that name the kind of a node.
"""

import json
from collections.abc import Container, Iterator
from typing import Final, cast

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.decision_rules import decision_rules
from headgate.policies.syntax import (
    Assignment,
    Body,
    Collection,
    Comparison,
    Constant,
    CountOf,
    Definition,
    Expression,
    Membership,
    Module,
    Opaque,
    Reference,
    Statement,
)
from headgate.policies.tree import UnknownSyntaxError, tree_object

_TRUE: Final = Constant(True)
_BINDING: Final = frozenset({"AssignExpr", "SomeIn", "Func", "SomeVars", "Every"})
"""The nodes that make variables."""
_LANGUAGE_IMPORTS: Final = ("rego", "future")


def parse_module(ast: bytes, source: str) -> Module:
    """The policy ``source`` from the engine's tree. Raises UnknownSyntaxError."""
    try:
        tree = json.loads(ast)
        if isinstance(tree, list):
            [tree] = [one["ast"] for one in tree if one["source"]["contents"] == source]
        return _module(tree, source.encode())
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise UnknownSyntaxError(f"the engine's syntax tree is not understood: {error!r}") from error


def _module(tree: JsonObject, source: bytes) -> Module:
    definitions: dict[str, tuple[Definition, ...]] = {}
    defaults: dict[str, Expression] = {}
    for rule in _list(tree["rules"]):
        kind, node = _variant(rule)
        if kind == "Default":
            reference = _expression(node["refr"])
            name = _root(reference)
            plain = isinstance(reference, Reference) and reference.path == () and not node["args"]
            defaults[name] = _expression(node["value"]) if plain and name not in defaults else Opaque()
        else:
            definition = _definition(node)
            definitions[definition.name] = (*definitions.get(definition.name, ()), definition)
    package = _expression(tree_object(tree["package"])["refr"])
    if not isinstance(package, Reference) or package.path is None:
        raise UnknownSyntaxError("the package's name is not constant")
    path = (package.root, *package.path)
    return Module(
        package=path,
        definitions=definitions,
        defaults=defaults,
        bound_names=frozenset(_bound_names(tree["rules"], source)),
        imported_names=frozenset(_imported_names(_list(tree["imports"]), source)),
        uses_with=any(True for _ in _members(decision_rules(tree, path), ("with_mods",))),
    )


def _definition(node: JsonObject) -> Definition:
    kind, head = _variant(node["head"])
    reference = _expression(head["refr"])
    name = _root(reference)
    simple = isinstance(reference, Reference) and reference.path == ()
    if not simple or (kind == "Set" and head["key"] is None) or kind not in {"Compr", "Set"}:
        return Definition(name, is_set=kind == "Set", is_plain=False, bodies=())
    is_set = kind == "Set"
    value = _expression(head["key"]) if is_set else _assigned(head)
    bodies = [
        Body(
            statements=tuple(_statement(one) for one in _list(tree_object(body["query"])["stmts"])),
            # Later bodies of a complete rule have their own value or are true; of a set, the head's.
            value=value if index == 0 or (is_set and body["assign"] is None) else _assigned(body),
            is_else=bool(body["is_else"]),
        )
        for index, body in enumerate(map(tree_object, _list(node["bodies"])))
    ]
    return Definition(name, is_set, is_plain=True, bodies=tuple(bodies) or (Body((), value, is_else=False),))


def _assigned(node: JsonObject) -> Expression:
    assign = node["assign"]
    return _TRUE if assign is None else _expression(tree_object(assign)["value"])


def _statement(statement: JsonValue) -> Statement:
    node = tree_object(statement)
    kind, literal = _variant(node["literal"])
    if kind in {"Expr", "NotExpr"} and not node.get("with_mods"):
        return Statement(_expression(literal["expr"]), negated=kind == "NotExpr")
    return Statement(Opaque(), negated=False)


def _expression(tree: JsonValue) -> Expression:
    kind, node = _variant(tree)
    match kind:
        case "String" | "RawString" | "Bool" | "Null":
            return Constant(cast("bool | str | None", node["value"]))
        case "Number":
            value = node["value"]
            return Constant(value) if isinstance(value, int | float) else Opaque()
        case "Var":
            return Reference(str(node["value"]), ())
        case "RefDot":
            return _extended(_expression(node["refr"]), _list(node["field"])[1])
        case "RefBrack":
            index_kind, index = _variant(node["index"])
            constant = index["value"] if index_kind in {"String", "RawString"} else None
            return _extended(_expression(node["refr"]), constant)
        case "Array" | "Set":
            return Collection(tuple(_expression(item) for item in _list(node["items"])))
        case "BoolExpr":
            return Comparison(str(node["op"]), _expression(node["lhs"]), _expression(node["rhs"]))
        case "Membership" if node["key"] is None:
            return Membership(_expression(node["value"]), _expression(node["collection"]))
        case "Call":
            return _call(_expression(node["fcn"]), [_expression(one) for one in _list(node["params"])])
        case "AssignExpr":
            left, right = _expression(node["lhs"]), _expression(node["rhs"])
            if node["op"] == "Eq":
                return Assignment(None, right, left)
            return Assignment(_root(left), right, left) if left == Reference(_root(left), ()) else Opaque()
        case _:
            return Opaque()


def _extended(base: Expression, part: JsonValue) -> Expression:
    if not isinstance(base, Reference):
        return Opaque()
    path = None if base.path is None or not isinstance(part, str) else (*base.path, part)
    return Reference(base.root, path)


def _call(function: Expression, parameters: list[Expression]) -> Expression:
    match function, parameters:
        case Reference("count", ()), [Reference(name, ())]:
            return CountOf(name)
        case _:
            return Opaque()


def _root(expression: Expression) -> str:
    return expression.root if isinstance(expression, Reference) else ""


def _imported_names(imports: list[JsonValue], source: bytes) -> Iterator[str]:
    for one in imports:
        node = tree_object(one)
        reference = _expression(node["refr"])
        if "as" in node:
            yield _text(node["as"], source)
        elif isinstance(reference, Reference) and reference.path is not None:
            if reference.root not in _LANGUAGE_IMPORTS:
                yield (reference.root, *reference.path)[-1]
        else:
            raise UnknownSyntaxError("an import's path is not constant")


def _bound_names(tree: JsonValue, source: bytes) -> Iterator[str]:
    """Every variable that could be local to some body: it may shadow a rule, or input itself."""
    for kind, node in _members(tree, _BINDING):
        match kind:
            case "AssignExpr":
                assignment = tree_object(node)
                yield from _variables(assignment["lhs"])
                if assignment["op"] == "Eq":
                    yield from _variables(assignment["rhs"])
            case "SomeIn":
                yield from _variables([tree_object(node)["key"], tree_object(node)["value"]])
            case "Func":
                yield from _variables(tree_object(node)["args"])
            case "SomeVars":
                yield from (_text(span, source) for span in _list(tree_object(node)["vars"]))
            case "Every":
                spans = (tree_object(node)["key"], tree_object(node)["value"])
                yield from (_text(span, source) for span in spans if span is not None)


def _text(span: JsonValue, source: bytes) -> str:
    """The name at a span of the source (byte offsets): the tree holds no text of these."""
    start, end = tree_object(span)["start"], tree_object(span)["end"]
    if not isinstance(start, int) or not isinstance(end, int):
        raise UnknownSyntaxError("a span has no offsets")
    return source[start:end].decode()


def _variables(tree: JsonValue) -> Iterator[str]:
    """Variables that a pattern binds: those that are not the root of a reference, such as ``input.tool``."""
    if isinstance(tree, list):
        for part in tree:
            yield from _variables(part)
    elif isinstance(tree, dict):
        for kind, node in tree.items():
            if kind == "Var":
                yield str(tree_object(node)["value"])
            elif kind not in {"RefDot", "span"}:
                yield from _variables(node)


def _members(tree: JsonValue, names: Container[str]) -> Iterator[tuple[str, JsonValue]]:
    """Every member with one of the names, at any depth, outside the places in the text: half of the tree are those."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            for name, value in node.items():
                if name in names:
                    yield name, value
                if name != "span" and isinstance(value, dict | list):
                    pending.append(value)
        elif isinstance(node, list):
            pending.extend(node)


def _variant(tree: JsonValue) -> tuple[str, JsonObject]:
    [(kind, node)] = tree_object(tree).items()
    return kind, tree_object(node)


def _list(tree: JsonValue) -> list[JsonValue]:
    if not isinstance(tree, list):
        raise UnknownSyntaxError(f"expected a list, got {type(tree).__name__}")
    return tree
