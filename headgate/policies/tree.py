"""Walks the engine's syntax tree as JSON: nodes, their places, and the names of references."""

from collections.abc import Iterator

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue

_REFERENCES = ("RefDot", "RefBrack")
_ENGINE_TAB_COLUMNS = 4
_CONTAINERS = frozenset((dict, list))


class UnknownSyntaxError(Exception):
    """The engine's tree does not have the shape of this version."""


class Place(Struct, frozen=True):
    """A place in the text, counted from 1."""

    line: int
    column: int


class Mention(Struct, frozen=True):
    """A reference as written: ``input.http["host"]`` is root ``input``, path ``(http, host)``.

    ``path`` ends before the first part that is not a constant string.
    """

    root: str
    path: tuple[str, ...]
    place: Place


def tree_object(tree: JsonValue) -> JsonObject:
    """Raises UnknownSyntaxError."""
    if not isinstance(tree, dict):
        raise UnknownSyntaxError(f"expected an object, got {type(tree).__name__}")
    return tree


def place_of(node: JsonObject) -> Place:
    """The start of a node with a span; the text's beginning for a node without one."""
    span = node.get("span")
    if isinstance(span, dict) and isinstance(span.get("line"), int) and isinstance(span.get("col"), int):
        return Place(int(str(span["line"])), int(str(span["col"])))
    return Place(1, 1)


def character_column(line: str, engine_column: int) -> int:
    """The column as editors and OPA count it: a tab is one character, whereas the engine (regorus 0.14, ``lexer.rs``)
    counts four."""
    reached = 1
    for number, character in enumerate(line, start=1):
        if reached >= engine_column:
            return number
        reached += _ENGINE_TAB_COLUMNS if character == "\t" else 1
    return engine_column - (reached - 1 - len(line))


def nodes(tree: JsonValue, *kinds: str) -> Iterator[tuple[str, JsonObject]]:
    """Every node of these kinds, with its kind, in the order in which they are written."""
    pending: list[tuple[str, JsonValue]] = [("", tree)]
    while pending:
        name, part = pending.pop()
        if isinstance(part, dict):
            if name in kinds:
                yield name, part
            # Most of a tree are places in the text, numbers and names.
            pending += [one for one in reversed(part.items()) if type(one[1]) in _CONTAINERS and one[0] != "span"]
        elif isinstance(part, list):
            pending += [("", one) for one in reversed(part) if type(one) in _CONTAINERS]


def mentions(tree: JsonValue) -> Iterator[Mention]:
    """Every reference and variable, the longest form of each once."""
    if isinstance(tree, list):
        for part in tree:
            yield from mentions(part)
        return
    if not isinstance(tree, dict):
        return
    for name, part in tree.items():
        if name == "Var" and isinstance(part, dict):
            yield Mention(str(part["value"]), (), place_of(part))
        elif name in _REFERENCES and isinstance(part, dict):
            mention, computed = _chain(name, part)
            if mention is not None:
                yield mention
            for one in computed:
                yield from mentions(one)
        elif type(part) in _CONTAINERS and name != "span":
            yield from mentions(part)


def reference(tree: JsonValue) -> Mention | None:
    """The reference that this expression is, if all of it is constant; else None."""
    if not isinstance(tree, dict) or len(tree) != 1:
        return None
    [(name, part)] = tree.items()
    if name == "Var" and isinstance(part, dict):
        return Mention(str(part["value"]), (), place_of(part))
    if name in _REFERENCES and isinstance(part, dict):
        mention, computed = _chain(name, part)
        return mention if not computed else None
    return None


def constant(tree: JsonValue) -> JsonValue:
    """The literal that this expression is; None if it is not a literal."""
    if isinstance(tree, dict) and len(tree) == 1:
        [(name, part)] = tree.items()
        if name in {"String", "RawString", "Bool"} and isinstance(part, dict):
            return part["value"]
    return None


def _chain(kind: str, node: JsonObject) -> tuple[Mention | None, list[JsonValue]]:
    """The reference, and the expressions inside its brackets (or at its root, where that is no variable)."""
    parts: list[str | None] = []
    computed: list[JsonValue] = []
    current: JsonValue = {kind: node}
    while isinstance(current, dict):
        [(name, inner)] = current.items()
        if not isinstance(inner, dict) or name not in _REFERENCES:
            break
        if name == "RefDot":
            field = inner["field"]
            parts.append(str(field[1]) if isinstance(field, list) else None)
        else:
            index = inner["index"]
            text = constant(index)
            parts.append(text if isinstance(text, str) else None)
            if not isinstance(text, str):
                computed.append(index)
        current = inner["refr"]
    root = current.get("Var") if isinstance(current, dict) else None
    if not isinstance(root, dict):
        return None, [current, *computed]
    path: list[str] = []
    for part in reversed(parts):
        if part is None:
            break
        path.append(part)
    return Mention(str(root["value"]), tuple(path), place_of(root)), computed
