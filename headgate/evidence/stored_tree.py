"""The stored tree as it was at some size, from its tiles: nothing in them is believed until a signed root agrees."""

from headgate.db.database import Connection
from headgate.evidence.merkle import HASH_BYTES
from headgate.evidence.tiles import (
    TILE_HASHES,
    TILE_LEVELS,
    TileAddress,
    TreeBuilder,
    edge_tiles,
    split_hashes,
)
from headgate.evidence.tree_store import load_tiles


async def builder_at(connection: Connection, org_id: str, size: int) -> TreeBuilder:
    """Grows on from ``size`` leaves. A tile that is missing leaves hashes of zeroes, whose root nobody signed."""
    stored = await load_tiles(connection, org_id, edge_tiles(size))
    edge: dict[TileAddress, bytes] = {}
    for address in edge_tiles(size):
        length = (size >> (TILE_LEVELS * address.level)) % TILE_HASHES * HASH_BYTES
        edge[address] = stored.get(address, b"")[:length].ljust(length, b"\0")
    return TreeBuilder(size, edge)


async def stored_leaves(connection: Connection, org_id: str, first: int, end: int) -> list[bytes]:
    """Leaf hashes from number ``first`` up to, and without, ``end``; shorter where tiles are missing."""
    addresses = [TileAddress(0, number) for number in range(first // TILE_HASHES, -(-end // TILE_HASHES))]
    tiles = await load_tiles(connection, org_id, addresses)
    leaves: list[bytes] = []
    for address in addresses:
        found = split_hashes(tiles.get(address, b""))
        base = address.number * TILE_HASHES
        leaves += found[max(first - base, 0) : end - base]
    return leaves
