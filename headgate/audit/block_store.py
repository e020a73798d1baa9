"""The bitmap index over the record, read (``headgate.audit.blocks``); it is written by ``index_audit_due``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg import sql

from headgate.audit.blocks import BLOCK_EVENTS, WHOLE, BlockMask, mask_of
from headgate.db.database import Connection
from headgate.db.rounds import Share

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


async def index_due(connection: Connection, blocks: int) -> list[Share]:
    """Index what every organization has full blocks of, up to about ``blocks`` in all."""
    cursor = await connection.execute("SELECT org_id, indexed, failure FROM index_audit_due(%s)", [blocks])
    return [Share(row["org_id"], int(row["indexed"]), row["failure"]) for row in await cursor.fetchall()]


async def indexed_blocks(connection: Connection, org_id: str) -> int:
    """How many blocks are indexed; they are without a gap from the chain's first."""
    cursor = await connection.execute(
        "SELECT block + 1 AS blocks FROM audit_blocks WHERE org_id = %s ORDER BY block DESC LIMIT 1", [org_id]
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row["blocks"])


@dataclass(frozen=True, slots=True)
class BlocksWanted:
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


@dataclass(frozen=True, slots=True)
class Counted:
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
