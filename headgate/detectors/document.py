"""All texts of one input in one buffer, each with the way to it.

Detectors run once over the buffer, whether it came from one mail or from a thousand small JSON values, and a
member's name stands before its value as a label does in a form: ``iban: DE…``.
"""

import re
from collections.abc import Container, Iterator
from typing import Final, NamedTuple

from regorus import TEXT_SEPARATOR, TextBuffer

from headgate.detectors.labels import Labels
from headgate.detectors.limits import Limits
from headgate.detectors.model import Place, Span, masked_sample
from headgate.kernel.canonical_json import JsonValue

SEPARATOR: Final = TEXT_SEPARATOR
"""Between two texts; no pattern matches across it."""

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$@#](?=.{0,39}$)[A-Za-z_ .\-]*[0-9]{0,4}")

type Path = tuple[str | int, ...]


class Node(NamedTuple):
    """One step into a JSON value; None is its root. Written out only for what is found."""

    parent: "Node | None"
    key: str | int

    def name(self) -> str:
        """The member's name, or that of the list that holds it."""
        node: Node | None = self
        while node is not None and isinstance(node.key, int):
            node = node.parent
        return "" if node is None else str(node.key)


def node_of(path: Path, start: Node | None = None) -> Node | None:
    """The last of these steps from ``start``."""
    node = start
    for key in path:
        node = Node(node, key)
    return node


def path_of(node: Node | None) -> Path:
    """Its steps, outermost first."""
    keys: list[str | int] = []
    while node is not None:
        keys.append(node.key)
        node = node.parent
    return tuple(reversed(keys))


def json_path(node: Node | None) -> str:
    """RFC 9535, with the shorthand for names that are identifiers; a name that may itself be somebody's is masked."""
    steps: list[str] = []
    while node is not None:
        if isinstance(node.key, int):
            steps.append(f"[{node.key}]")
        elif _PLAIN_NAME.fullmatch(node.key) is None:
            steps.append(f"['{masked_sample(node.key)}']")
        else:
            steps.append(f".{node.key}" if _IDENTIFIER.fullmatch(node.key) is not None else f"['{node.key}']")
        node = node.parent
    return "$" + "".join(reversed(steps))


class Origin(NamedTuple):
    """Where a text came from: ``outer`` is what it was decoded from, by ``step``.

    ``start`` and ``end``: where in the buffer that stands, and ``size``, how many bytes it decodes to; 0 where nothing
    was decoded, or a whole text (``json``).
    """

    outer: "Origin | None"
    step: str | None
    node: Node | None
    start: int = 0
    end: int = 0
    size: int = 0

    @property
    def depth(self) -> int:
        return 0 if self.outer is None else self.outer.depth + 1

    @property
    def path(self) -> Path:
        """Of the value in the inspected JSON that it came from."""
        outermost = self
        while outermost.outer is not None:
            outermost = outermost.outer
        return path_of(outermost.node)

    def has_step(self, steps: Container[str | None]) -> bool:
        return self.step in steps or (self.outer is not None and self.outer.has_step(steps))


ROOT: Final = Origin(None, None, None)


def text_at(buffer: bytes, offset: int) -> tuple[int, int]:
    """Where the text at ``offset`` of a buffer begins and ends, its label included."""
    start, end = buffer.rfind(SEPARATOR, 0, offset), buffer.find(SEPARATOR, offset)
    return 0 if start < 0 else start + len(SEPARATOR), len(buffer) if end < 0 else end


class Attachment(NamedTuple):
    """What is not text, at its place in the inspected value: ``("body", 2)`` is ``$.body[2]``."""

    path: Path
    data: bytes

    def node(self) -> Node | None:
        return node_of(self.path)


class JoinedText(NamedTuple):
    """``text`` after what came before it elsewhere, at the same ``place``: what is found counts where it reaches from
    one into the other."""

    before: tuple[str, ...]
    text: str
    place: str = ""


class Piece(NamedTuple):
    """One text: ``text_start`` is where its value begins in the buffer, after its label."""

    origin: Origin
    folded: bool
    start: int
    text_start: int
    end: int


class Document:
    """The buffer while it grows, and the way back from it."""

    __slots__ = ("_labels", "_texts")

    def __init__(self) -> None:
        self._labels = Labels()
        self._texts = TextBuffer(self._labels.label)

    @property
    def size(self) -> int:
        return self._texts.size

    @property
    def texts(self) -> TextBuffer:
        return self._texts

    @property
    def pieces(self) -> int:
        return len(self._texts)

    def label_size(self, origin: Origin) -> int:
        """About how many bytes the label of such a text takes. Those of a name count too: it may be all there is."""
        return 0 if origin.node is None else self._labels.size(origin.node.name())

    def add(self, text: str, origin: Origin, bytes_max: int, *, folded: bool) -> None:
        """``bytes_max``: a label that would go beyond it is cut."""
        node, name, label = origin.node, None, b""
        if node is not None:
            name = node.name()
            label = self._labels.label(name, None if node.parent is None else node.parent.name())
        label = label[: max(0, bytes_max - self.size)]
        self._texts.add(origin, name, label, text.encode("utf-8", "replace"), folded, origin.outer is None)

    def add_ordinary(self, value: JsonValue, origin: Origin, limits: Limits) -> Iterator[tuple[str, Origin]]:
        """Adds the ordinary texts of a value as it is walked (``regorus.TextBuffer.walk``). Yields the others."""
        is_outermost = origin.outer is None
        for text, path in self._texts.walk(value, origin, is_outermost, limits.input_bytes_max, limits.values_max):
            yield text, _at(origin, path)

    def buffer(self, first_piece: int = 0) -> bytes:
        """The bytes from this piece on."""
        return self._texts.bytes(first_piece)

    def piece(self, number: int) -> Piece:
        origin, path, folded, start, text_start, end = self._texts.piece(number)
        return Piece(origin if path is None else _at(origin, path), folded, start, text_start, end)

    def piece_at(self, offset: int) -> Piece:
        return self.piece(self._texts.index_at(offset))


def _at(origin: Origin, path: Path) -> Origin:
    return origin._replace(node=node_of(path, origin.node)) if path else origin


class Places:
    """Where matches stand, asked for in the order of the buffer: each text's characters are counted once."""

    __slots__ = ("_buffer", "_characters", "_counted_to", "_document", "_piece_start")

    def __init__(self, document: Document, buffer: bytes) -> None:
        self._document = document
        self._buffer = buffer
        self._piece_start = -1
        self._counted_to = self._characters = 0

    def of(self, start: int) -> Place:
        """Of the match that starts at ``start`` of the whole buffer, as a reader finds it again."""
        piece = self._document.piece_at(start)
        if start < piece.text_start:
            return _place(piece, None)
        if piece.start != self._piece_start:
            self._piece_start, self._counted_to, self._characters = piece.start, piece.text_start, 0
        self._characters += len(self._buffer[self._counted_to : start].decode("utf-8", "replace"))
        self._counted_to = start
        return _place(piece, self._characters)


def span_of(piece: Piece, place: Place, found: str) -> Span | None:
    """Of what was found at ``place``; None where it cannot be replaced in the inspected value."""
    origin = piece.origin
    if place.offset is None or piece.folded or origin.outer is not None or origin.step is not None:
        return None
    return Span(path_of(origin.node), place.offset, place.offset + len(found))


def _place(piece: Piece, offset: int | None) -> Place:
    steps = ["unicode"] if piece.folded else []
    origin = piece.origin
    while origin.outer is not None:
        if origin.step == "json":
            steps.append(f"json:{json_path(origin.node)}")
        elif origin.step is not None:
            steps.append(origin.step)
        origin = origin.outer
    return Place(json_path(origin.node), tuple(reversed(steps)), offset)
