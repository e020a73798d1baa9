"""Finds the events of a record that match a filter, newest first, among very many.

Masks find the events in full blocks (``blocks``). Events that are not indexed yet are read one by one. An action's own
events are few and have their own index.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Final

from psycopg import sql

from headgate.audit.block_store import BlocksWanted, count_before, indexed_blocks, masks_before, within_time
from headgate.audit.blocks import BLOCK_EVENTS, BlockMask, before, block_of, newest_first
from headgate.audit.event_rows import conditions, facets_of, search_conditions
from headgate.audit.feed_store import newest_seq
from headgate.audit.model import EventFilter
from headgate.db import bounded_count
from headgate.db.database import Connection

_PAGE_BLOCKS: Final = 64
_MOST_PAGE_BLOCKS: Final = 2048
_MOST_UNINDEXED: Final = 5_000
_COUNT_BLOCKS: Final = (64, 1024, 16384)
SEARCHED_EVENTS: Final = 2_000
"""How many events one page of a search looks through."""


@dataclass(slots=True)
class Finder:
    """``blocks``: so many are indexed; the events behind them are looked at, once for both the page and the total.
    ``last``: the chain's end; a row behind it is no event of the record, which verification says."""

    connection: Connection
    org_id: str
    wanted: EventFilter
    blocks: int
    last: int
    _newest: list[int] | None = field(default=None, init=False)

    async def seqs(self, limit: int, offset: int, before_seq: int | None) -> list[int]:
        """Numbers of up to ``limit`` events; those below ``before_seq`` where that is given."""
        if not self.blocks:
            return await self._looked_up(limit, offset, before_seq)
        newest = await self._unindexed()
        if newest is None:
            return await self._seqs_behind_many(limit, offset, before_seq)
        found = [seq for seq in newest if before_seq is None or seq < before_seq][offset : offset + limit]
        if len(found) == limit:
            return found
        return found + await self._indexed(limit - len(found), max(0, offset - len(newest)), before_seq)

    async def count(self, *, exact: bool) -> bounded_count.BoundedCount:
        """How many there are, whatever the page."""
        most = bounded_count.EXACT_TOTAL_LIMIT
        newest = await self._unindexed() if self.blocks else None
        if newest is None:
            total, is_minimum = await self._count_looked_up(exact=exact)
            if is_minimum or not self.blocks:
                return bounded_count.BoundedCount(total, is_minimum)
        else:
            total = len(newest)
        total += await self._count_indexed(None if exact else most - total)
        if total > most and not exact:
            return bounded_count.BoundedCount(most, is_minimum=True)
        return bounded_count.BoundedCount(total, is_minimum=False)

    async def searched(self, candidates: list[int]) -> list[int]:
        """Which of these, newest first, are what the filter looks through events for."""
        if not candidates:
            return []
        newest, oldest = candidates[0], candidates[-1]
        condition, values = search_conditions(self.wanted)
        values |= {"org": self.org_id, "oldest": oldest, "newest": newest, "candidates": candidates}
        is_gapless = newest - oldest + 1 == len(candidates)
        query = sql.SQL(
            "SELECT e.seq FROM audit_events e WHERE e.org_id = %(org)s AND e.seq BETWEEN %(oldest)s AND %(newest)s"
            " AND {} {} ORDER BY e.seq DESC"
        ).format(condition, sql.SQL("" if is_gapless else "AND e.seq = ANY (%(candidates)s)"))
        cursor = await self.connection.execute(query, values, prepare=False)
        return [row["seq"] for row in await cursor.fetchall()]

    async def _indexed(self, limit: int, skipped: int, before_seq: int | None) -> list[int]:
        found: list[int] = []
        below = self.blocks if before_seq is None else min(self.blocks, block_of(before_seq) + 1)
        async with aclosing(self._masks(below)) as masks:
            async for one in masks:
                kept = one if before_seq is None else before(one, before_seq)
                if skipped >= (here := kept.mask.bit_count()):
                    skipped -= here
                    continue
                rest = list(newest_first(kept))[skipped:]
                skipped = 0
                found += rest[: limit - len(found)]
                if len(found) == limit:
                    break
        return found

    async def _masks(self, below: int) -> AsyncGenerator[BlockMask]:
        wanted, limit = self._blocks_wanted(), _PAGE_BLOCKS
        while wanted is not None:
            found = await masks_before(self.connection, wanted, below, limit)
            for one in found:
                yield one if one.is_certain else await self._checked(one)
            if len(found) < limit:
                return
            below, limit = found[-1].block, min(limit * 4, _MOST_PAGE_BLOCKS)

    async def _count_indexed(self, most: int | None) -> int:
        """Up to somewhat more than ``most``; None: all."""
        wanted, total, below = self._blocks_wanted(), 0, self.blocks
        if wanted is None:
            return 0
        for limit in (None,) if most is None else chain(_COUNT_BLOCKS, repeat(_COUNT_BLOCKS[-1])):
            counted = await count_before(self.connection, wanted, below, limit)
            total += counted.events
            for one in counted.uncertain:
                total += (await self._checked(one)).mask.bit_count()
            if counted.lowest is None or (most is not None and total > most):
                break
            below = counted.lowest
        return total

    async def _checked(self, one: BlockMask) -> BlockMask:
        return await within_time(self.connection, self.org_id, one, self.wanted.start, self.wanted.end)

    def _blocks_wanted(self) -> BlocksWanted | None:
        """None: no block can hold any."""
        facets = facets_of(self.wanted)
        if any(not values for values in facets.values()):
            return None
        return BlocksWanted(self.org_id, facets, self.wanted.start, self.wanted.end)

    async def _unindexed(self) -> list[int] | None:
        """The events behind the indexed blocks, newest first; None: they are too many to hold, as the indexer is far
        behind."""
        if self._newest is None:
            self._newest = await self._looked_up(_MOST_UNINDEXED + 1, 0, None)
        return None if len(self._newest) > _MOST_UNINDEXED else self._newest

    async def _seqs_behind_many(self, limit: int, offset: int, before_seq: int | None) -> list[int]:
        found = await self._looked_up(limit, offset, before_seq)
        if len(found) == limit:
            return found
        skipped = max(0, offset - (await self._count_looked_up(exact=True)).total) if offset else 0
        return found + await self._indexed(limit - len(found), skipped, before_seq)

    async def _looked_up(self, limit: int, offset: int, before_seq: int | None) -> list[int]:
        where, values = self._conditions()
        query = sql.SQL(
            "SELECT e.seq FROM audit_events e WHERE {} {} ORDER BY e.seq DESC LIMIT %(limit)s OFFSET %(offset)s"
        ).format(where, sql.SQL("" if before_seq is None else "AND e.seq < %(before)s"))
        cursor = await self.connection.execute(
            query, {**values, "before": before_seq, "limit": limit, "offset": offset}, prepare=False
        )
        return [row["seq"] for row in await cursor.fetchall()]

    async def _count_looked_up(self, *, exact: bool) -> bounded_count.BoundedCount:
        where, values = self._conditions()
        source = sql.SQL("audit_events e WHERE {}").format(where)
        return await bounded_count.count_rows(self.connection, source, values, exact=exact, prepare=False)

    def _conditions(self) -> tuple[sql.Composable, dict[str, object]]:
        where, values = conditions(self.org_id, self.wanted)
        first, last = sql.Literal(self.blocks * BLOCK_EVENTS + 1), sql.Literal(self.last)
        return sql.SQL("{} AND e.seq BETWEEN {} AND {}").format(where, first, last), values


async def finder(connection: Connection, org_id: str, wanted: EventFilter) -> Finder:
    has_own_index = wanted.action_id is not None or wanted.without_action or wanted.seq is not None
    blocks = 0 if has_own_index else await indexed_blocks(connection, org_id)
    return Finder(connection, org_id, wanted, blocks, await newest_seq(connection, org_id))
