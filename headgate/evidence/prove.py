"""Proofs about a stored tree: its tiles are read, and nothing else."""

from collections.abc import Sequence

from headgate.db.database import Connection
from headgate.evidence.tiles import Span, consistency_spans, inclusion_spans, roots_of, tiles_of
from headgate.evidence.tree_store import load_tiles
from headgate.kernel.errors import UnavailableError


async def prove_inclusion(
    connection: Connection, org_id: str, indexes: Sequence[int], size: int
) -> list[tuple[bytes, ...]]:
    """A path for each of these leaves, in one read. Raises UnavailableError where the stored tree has holes."""
    return await _prove(connection, org_id, [inclusion_spans(index, size) for index in indexes])


async def prove_consistency(connection: Connection, org_id: str, old_size: int, new_size: int) -> tuple[bytes, ...]:
    """Raises UnavailableError where the stored tree has holes."""
    return (await _prove(connection, org_id, [consistency_spans(old_size, new_size)]))[0]


async def _prove(connection: Connection, org_id: str, proofs: list[list[Span]]) -> list[tuple[bytes, ...]]:
    tiles = await load_tiles(connection, org_id, tiles_of(span for spans in proofs for span in spans))
    try:
        return [tuple(roots_of(spans, tiles)) for spans in proofs]
    except LookupError as error:
        raise UnavailableError(f"the stored tree of {org_id} has holes: {error}") from error
