"""The bitmap index over the record in the database (``headgate.audit.blocks``)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import Struct
from psycopg import sql
from psycopg.rows import tuple_row

from headgate.audit.blocks import (
    BLOCK_EVENTS,
    WHOLE,
    BlockAction,
    BlockEvent,
    BlockMask,
    FacetMasks,
    mask_of,
)
from headgate.db.database import Connection

type Facets = Mapping[str, Sequence[str]]
"""The values of each facet, any of which is meant; every facet must be met."""

_SOME: Final = sql.SQL(
    "(SELECT block, bit_or(events) AS events FROM audit_facets WHERE org_id = %(org)s AND facet = {facet}"
    " AND value = ANY ({values}) AND block < %(before)s GROUP BY block)"
)
_ONE: Final = sql.SQL(
    "(SELECT block, events FROM audit_facets WHERE org_id = %(org)s AND facet = {facet} AND value = {value}"
    " AND block < %(before)s)"
)
_TIMED: Final = sql.SQL(
    "(SELECT block, first_at >= {start} AND last_at <= {end} AS is_certain FROM audit_blocks"
    " WHERE org_id = %(org)s AND block < %(before)s AND first_at <= {end} AND last_at >= {start})"
)


_START: Final = sql.SQL("coalesce(%(start)s::timestamptz, '-infinity')")
_END: Final = sql.SQL("coalesce(%(end)s::timestamptz, 'infinity')")


class BlocksDue(NamedTuple):
    """Full blocks of an organization that are not indexed."""

    org_id: str
    first_block: int
    blocks: int


async def blocks_due(connection: Connection) -> list[BlocksDue]:
    """Of all organizations, in random order."""
    cursor = await connection.execute("SELECT org_id, first_block, blocks FROM audit_blocks_due()")
    return [BlocksDue(row["org_id"], row["first_block"], row["blocks"]) for row in await cursor.fetchall()]


async def load_block(
    connection: Connection, org_id: str, block: int
) -> tuple[list[BlockEvent], dict[str, BlockAction]]:
    """The events of a block, and their actions by identifier."""
    first = block * BLOCK_EVENTS
    async with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        await cursor.execute(
            "SELECT seq, event_type, agent_id, action_id FROM audit_events"
            " WHERE org_id = %s AND seq > %s AND seq <= %s",
            [org_id, first, first + BLOCK_EVENTS],
        )
        events = [BlockEvent(*row) for row in await cursor.fetchall()]
        await cursor.execute(
            "SELECT action_id, tool, operation, audit_verdict(decision), risk_level FROM actions"
            " WHERE org_id = %s AND action_id = ANY (%s)",
            [org_id, list({one.action_id for one in events if one.action_id is not None})],
        )
        return events, {row[0]: BlockAction(*row[1:]) for row in await cursor.fetchall()}


async def add_block(connection: Connection, org_id: str, block: int, masks: FacetMasks) -> bool:
    """Index it; False if another worker has."""
    cursor = await connection.execute(
        "SELECT index_audit_block(%s, %s, %s::text[], %s::text[], %s::text[]) AS added",
        [
            org_id,
            block,
            [facet for facet, _ in masks],
            [value for _, value in masks],
            [f"{mask:0{BLOCK_EVENTS}b}" for mask in masks.values()],
        ],
    )
    row = await cursor.fetchone()
    return row is not None and bool(row["added"])


async def indexed_blocks(connection: Connection, org_id: str) -> int:
    """How many blocks are indexed; they are without a gap from the chain's first."""
    cursor = await connection.execute(
        "SELECT block + 1 AS blocks FROM audit_blocks WHERE org_id = %s ORDER BY block DESC LIMIT 1", [org_id]
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row["blocks"])


class BlocksWanted(Struct, frozen=True):
    """Which blocks: those that have events of these facets, and whose times overlap this range."""

    org_id: str
    facets: Facets
    start: datetime | None
    end: datetime | None

    @property
    def is_timed(self) -> bool:
        return self.start is not None or self.end is not None

    def values(self, below: int, limit: int | None) -> dict[str, object]:
        return {"org": self.org_id, "before": below, "limit": limit, "start": self.start, "end": self.end}

    def query(self) -> sql.Composed:
        """block, mask (null: all of it), is_certain; of blocks below ``before``, the newest first, up to ``limit``.
        Values are literals, so that each is planned by how frequent it is."""
        sources: list[sql.Composable] = []
        masks: list[sql.Composable] = []
        for number, (facet, values) in enumerate(self.facets.items()):
            name = sql.Identifier(f"f{number}")
            masks.append(sql.SQL("{}.events").format(name))
            sources.append(sql.SQL("{} AS {}").format(_facet(facet, values), name))
        if self.is_timed or not sources:
            sources.append(sql.SQL("{} AS t").format(_TIMED.format(start=_START, end=_END)))
        mask = sql.SQL(" & ").join(masks) if masks else sql.SQL("NULL::bit(1024)")
        joined = [sources[0], *(sql.SQL("JOIN {} USING (block)").format(one) for one in sources[1:])]
        return sql.SQL(
            "SELECT block, {mask} AS mask, {certain} AS is_certain FROM {sources} WHERE {some}"
            " ORDER BY block DESC LIMIT %(limit)s"
        ).format(
            mask=mask,
            certain=sql.SQL("t.is_certain" if self.is_timed else "true"),
            sources=sql.SQL(" ").join(joined),
            some=sql.SQL("bit_count({}) > 0").format(mask) if len(masks) > 1 else sql.SQL("true"),
        )


def _facet(facet: str, values: Sequence[str]) -> sql.Composed:
    if len(values) == 1:
        return _ONE.format(facet=sql.Literal(facet), value=sql.Literal(values[0]))
    return _SOME.format(facet=sql.Literal(facet), values=sql.Literal(list(values)))


async def masks_before(connection: Connection, wanted: BlocksWanted, below: int, limit: int) -> list[BlockMask]:
    """Up to ``limit`` blocks below ``below``, the newest first; whole ones where nothing restricts the events."""
    cursor = await connection.execute(wanted.query(), wanted.values(below, limit), prepare=False)
    return [
        BlockMask(row["block"], WHOLE if row["mask"] is None else int(row["mask"], 2), bool(row["is_certain"]))
        for row in await cursor.fetchall()
    ]


class Counted(Struct, frozen=True):
    """``events`` of blocks that are certain; ``uncertain`` blocks are to be looked at. ``lowest``: how far it went;
    None: to the end."""

    events: int
    uncertain: tuple[BlockMask, ...]
    lowest: int | None


async def count_before(connection: Connection, wanted: BlocksWanted, below: int, limit: int | None) -> Counted:
    """Of up to ``limit`` blocks below ``below``."""
    query = sql.SQL(
        "SELECT count(*) AS blocks, min(block) AS lowest,"
        " coalesce(sum(coalesce(bit_count(mask), {whole})) FILTER (WHERE is_certain), 0)::bigint AS events,"
        " array_agg(block) FILTER (WHERE NOT is_certain) AS uncertain,"
        " array_agg(mask::text) FILTER (WHERE NOT is_certain) AS masks FROM ({blocks}) AS found"
    ).format(whole=sql.Literal(BLOCK_EVENTS), blocks=wanted.query())
    cursor = await connection.execute(query, wanted.values(below, limit), prepare=False)
    row = await cursor.fetchone()
    assert row is not None  # noqa: S101 - an aggregate answers one row
    pairs = zip(row["uncertain"] or (), row["masks"] or (), strict=True)
    uncertain = tuple(BlockMask(block, WHOLE if mask is None else int(mask, 2), False) for block, mask in pairs)
    is_end = limit is None or row["blocks"] < limit
    return Counted(row["events"], uncertain, None if is_end else row["lowest"])


async def within_time(
    connection: Connection, org_id: str, found: BlockMask, start: datetime | None, end: datetime | None
) -> BlockMask:
    """Looks at each event of the block."""
    first = found.block * BLOCK_EVENTS
    cursor = await connection.execute(
        "SELECT seq FROM audit_events WHERE org_id = %s AND seq > %s AND seq <= %s"
        " AND created_at BETWEEN coalesce(%s::timestamptz, '-infinity') AND coalesce(%s::timestamptz, 'infinity')",
        [org_id, first, first + BLOCK_EVENTS, start, end],
    )
    return BlockMask(found.block, found.mask & mask_of(row["seq"] for row in await cursor.fetchall()))
