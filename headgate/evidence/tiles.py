"""The tree as it is stored: tiles of 32 hashes, so that a proof reads a few rows, whatever the tree's size.

The idea is C2SP's tlog-tiles; ours are smaller (five levels instead of eight), so that a row fits into a database
page without being stored apart, and no more than 31 hashes are computed where one is looked for. A tile of level 0
holds leaf hashes, one of level n the roots of complete tiles of level n - 1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from regorus import complete_root

from headgate.evidence.merkle import HASH_BYTES, Frontier, fold_peaks, node_hash

TILE_LEVELS: Final = 5
TILE_HASHES: Final = 1 << TILE_LEVELS


class TileAddress(Struct, frozen=True, order=True):
    level: int
    number: int


class Node(Struct, frozen=True):
    """The root of the complete subtree of 2**height leaves that begins at leaf ``number`` << ``height``."""

    height: int
    number: int

    @property
    def tile(self) -> TileAddress:
        return TileAddress(self.height // TILE_LEVELS, (self.number << self.height % TILE_LEVELS) // TILE_HASHES)

    @property
    def slots(self) -> slice:
        """Which of the tile's hashes it is the root over."""
        width = 1 << self.height % TILE_LEVELS
        first = (self.number * width) % TILE_HASHES
        return slice(first, first + width)


type Span = tuple[int, int]
"""Leaves from the first number up to, and without, the second."""

type Tiles = Mapping[TileAddress, bytes]
"""Contents: the hashes of a tile, one after the other."""


class TreeBuilder:
    """Appends leaves; ``changed`` are the tiles to be stored afterwards."""

    def __init__(self, size: int, edge: Tiles) -> None:
        """``edge``: the contents of ``edge_tiles(size)``. Raises ValueError where they are not that tree's."""
        self.size = size
        self.changed: dict[TileAddress, bytes] = {}
        self._open: list[list[bytes]] = []
        for address in edge_tiles(size):
            hashes = split_hashes(edge.get(address, b""))
            expected = (size >> (TILE_LEVELS * address.level)) % TILE_HASHES
            if len(hashes) != expected:
                raise ValueError(f"tile {address} holds {len(hashes)} hashes, expected {expected}")
            self._open.append(hashes)

    def append(self, leaf_hashes: Iterable[bytes]) -> None:
        if not self._open:
            self._open.append([])
        leaves, new, at = self._open[0], list(leaf_hashes), 0
        while at < len(new):
            piece = new[at : at + TILE_HASHES - len(leaves)]
            leaves += piece
            self.size += len(piece)
            at += len(piece)
            if len(leaves) == TILE_HASHES:
                self._close(0)
        self._note_open()

    def frontier(self) -> Frontier:
        peaks: list[bytes] = []
        for hashes in reversed(self._open):
            first = 0
            for bit in reversed(range(TILE_LEVELS)):
                if len(hashes) & (1 << bit):
                    peaks.append(complete_root(hashes[first : first + (1 << bit)]))
                    first += 1 << bit
        return Frontier(self.size, tuple(peaks))

    def _close(self, level: int) -> None:
        hashes = self._open[level]
        number = (self.size >> (TILE_LEVELS * (level + 1))) - 1
        self.changed[TileAddress(level, number)] = b"".join(hashes)
        root = complete_root(hashes)
        hashes.clear()
        if level + 1 == len(self._open):
            self._open.append([])
        above = self._open[level + 1]
        above.append(root)
        if len(above) == TILE_HASHES:
            self._close(level + 1)

    def _note_open(self) -> None:
        for level, hashes in enumerate(self._open):
            if hashes:
                number = self.size >> (TILE_LEVELS * (level + 1))
                self.changed[TileAddress(level, number)] = b"".join(hashes)


def edge_tiles(size: int) -> list[TileAddress]:
    """The tile that is not full yet, or begins next, of each level: what appending needs."""
    addresses: list[TileAddress] = []
    while size >> (TILE_LEVELS * len(addresses)):
        level = len(addresses)
        addresses.append(TileAddress(level, size >> (TILE_LEVELS * (level + 1))))
    return addresses


def inclusion_spans(index: int, size: int) -> list[Span]:
    """What an inclusion proof holds the roots of, the leaf's sibling first (RFC 6962, section 2.1.1)."""
    spans: list[Span] = []
    first, end = 0, size
    while end - first > 1:
        middle = first + _split(end - first)
        if index < middle:
            spans.append((middle, end))
            end = middle
        else:
            spans.append((first, middle))
            first = middle
    return spans[::-1]


def consistency_spans(old_size: int, new_size: int) -> list[Span]:
    """What a consistency proof holds the roots of (RFC 6962, section 2.1.2)."""
    if old_size in (0, new_size):
        return []
    spans: list[Span] = []
    first, end, is_whole = 0, new_size, True
    while end != old_size:
        middle = first + _split(end - first)
        if old_size <= middle:
            spans.append((middle, end))
            end = middle
        else:
            spans.append((first, middle))
            first, is_whole = middle, False
    if not is_whole:
        spans.append((first, end))
    return spans[::-1]


def nodes_of(span: Span) -> list[Node]:
    """The complete subtrees that a span of a tree consists of, largest first."""
    first, end = span
    nodes: list[Node] = []
    while first < end:
        height = (end - first).bit_length() - 1
        nodes.append(Node(height, first >> height))
        first += 1 << height
    return nodes


def tiles_of(spans: Iterable[Span]) -> set[TileAddress]:
    """The tiles that ``roots_of`` will ask for."""
    return {node.tile for span in spans for node in nodes_of(span)}


def roots_of(spans: Sequence[Span], tiles: Tiles) -> list[bytes]:
    """The roots over these spans. Raises LookupError where a tile is missing or too short."""
    return [fold_peaks([_node_root(node, tiles.__getitem__) for node in nodes_of(span)]) for span in spans]


def continuing_nodes(old_size: int, new_size: int) -> list[Node]:
    """The complete subtrees with which a tree of ``old_size`` leaves grows to ``new_size``, in their order."""
    nodes: list[Node] = []
    first = old_size
    while first < new_size:
        height = (new_size - first).bit_length() - 1
        if first:
            height = min(height, (first & -first).bit_length() - 1)
        nodes.append(Node(height, first >> height))
        first += 1 << height
    return nodes


def root_continued(frontier: Frontier, new_size: int, tiles: Tiles) -> bytes:
    """The root of the larger tree, its new part taken from tiles. Raises LookupError where one is missing."""
    heights = [height for height in reversed(range(frontier.size.bit_length())) if frontier.size >> height & 1]
    stack = list(zip(heights, frontier.peaks, strict=True))
    for node in continuing_nodes(frontier.size, new_size):
        height, root = node.height, _node_root(node, tiles.__getitem__)
        while stack and stack[-1][0] == height:
            root = node_hash(stack.pop()[1], root)
            height += 1
        stack.append((height, root))
    return fold_peaks([root for _, root in stack])


def split_hashes(content: bytes) -> list[bytes]:
    return [content[at : at + HASH_BYTES] for at in range(0, len(content), HASH_BYTES)]


def _node_root(node: Node, tile: Callable[[TileAddress], bytes]) -> bytes:
    slots = node.slots
    content = tile(node.tile)[slots.start * HASH_BYTES : slots.stop * HASH_BYTES]
    if len(content) != (slots.stop - slots.start) * HASH_BYTES:
        raise LookupError(f"{node.tile} is too short for {node}")
    return complete_root(split_hashes(content))


def _split(width: int) -> int:
    """The largest power of two below ``width``."""
    return 1 << ((width - 1).bit_length() - 1)
