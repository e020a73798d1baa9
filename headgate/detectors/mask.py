"""A JSON value without the credentials that were found in it: before somebody else is shown it."""

from dataclasses import dataclass, field
from typing import Final

from headgate.detectors.decode import document_of
from headgate.detectors.document import Node, Piece
from headgate.detectors.inspect import without_overlaps
from headgate.detectors.limits import DEFAULT_LIMITS, Budget, Limits
from headgate.detectors.model import Gap
from headgate.detectors.prepare import prepare
from headgate.detectors.secrets import find_secrets
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.secrets import MASK

type _Path = tuple[str | int, ...]

_WHOLE: Final = (-1, -1)


@dataclass(slots=True)
class _Found:
    """By the path of the outermost value: which characters; ``names``: members whose name holds one."""

    spans: dict[_Path, list[tuple[int, int]]] = field(default_factory=dict)
    names: set[_Path] = field(default_factory=set)


def mask_secrets(value: JsonValue, limits: Limits = DEFAULT_LIMITS) -> tuple[JsonValue, tuple[Gap, ...]]:
    """The value with its credentials masked; what holds one only when decoded is masked whole.

    With gaps, something was not looked at, and may still hold one.
    """
    prepare()
    budget = Budget(limits)
    document = document_of(value, budget)
    buffer = document.buffer()
    found = _Found()
    for match in without_overlaps(list(find_secrets(buffer, budget))):
        piece = document.piece_at(match.start)
        path = _outermost(piece)
        if match.start < piece.text_start:
            found.names.add(path)
            continue
        start = len(buffer[piece.text_start : match.start].decode("utf-8", "replace"))
        end = start + len(buffer[match.start : match.end].decode("utf-8", "replace"))
        is_plain = piece.origin.outer is None and not piece.folded
        found.spans.setdefault(path, []).append((start, end) if is_plain else _WHOLE)
    masked = _masked(value, (), found) if found.spans or found.names else value
    return masked, tuple(budget.gaps.values())


def _outermost(piece: Piece) -> _Path:
    origin = piece.origin
    while origin.outer is not None:
        origin = origin.outer
    steps: list[str | int] = []
    node: Node | None = origin.node
    while node is not None:
        steps.append(node.key)
        node = node.parent
    return tuple(reversed(steps))


def _masked(value: JsonValue, path: _Path, found: _Found) -> JsonValue:
    if isinstance(value, dict):
        members: JsonObject = {}
        for name, one in value.items():
            shown = f"{MASK} {len(members)}" if (*path, name) in found.names else name
            members[shown] = _masked(one, (*path, name), found)
        return members
    if isinstance(value, list):
        return [_masked(one, (*path, position), found) for position, one in enumerate(value)]
    spans = found.spans.get(path)
    if spans is None:
        return value
    if not isinstance(value, str) or _WHOLE in spans:
        return MASK
    for start, end in sorted(spans, reverse=True):
        value = value[:start] + MASK + value[end:]
    return value
