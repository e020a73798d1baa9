"""Opening captured exchanges for somebody, which is recorded before they see anything (``traffic.read``)."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from admin_api.change import administer
from admin_api.dependencies import Dependencies
from admin_api.principal import Principal
from admin_api.services.traffic_review import Asker, for_review
from admin_api.traffic.filters import WantedTraffic
from headgate.audit.model import EventType
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import UnavailableError
from headgate.traffic.model import Kept
from headgate.traffic.sealed_exchange import open_exchange
from headgate.traffic.store import exchanges_with_content

SEARCHED_MAX = 500
_BATCH = 100


class Opened(Struct, frozen=True):
    """One exchange with its document."""

    kept: Kept
    document: JsonObject

    def for_review(self) -> JsonObject:
        return for_review(self.kept, self.document)


class Searched(Struct, frozen=True):
    """``next_cursor``: where to go on; None: there is nothing older."""

    found: Sequence[Opened]
    looked_at: int
    next_cursor: str | None

    @property
    def total(self) -> int:
        return len(self.found)

    @property
    def total_is_minimum(self) -> bool:
        return self.next_cursor is not None


def opened(kept: Kept, dependencies: Dependencies) -> Opened:
    """Raises NotFoundError (erased), UnavailableError."""
    return Opened(kept, open_exchange(kept, dependencies.vault))


async def search(
    principal: Principal,
    dependencies: Dependencies,
    wanted: WantedTraffic,
    asker: Asker,
    *,
    limit: int,
    cursor: str | None,
) -> Searched:
    """Those that the filter expression fits, among what SQL finds: newest first, SEARCHED_MAX looked at. Recorded, as a
    filter asks what is in bodies.

    Raises ValidationError for an expression that is none, or takes too long; RateLimitedError, UnavailableError.
    """
    found: list[Opened] = []
    looked_at = 0
    is_more = True
    while is_more and looked_at < SEARCHED_MAX and len(found) < limit:
        batch = await _batch(principal, dependencies, wanted, cursor)
        is_more = len(batch) == _BATCH
        if not batch:
            if wanted.expression is not None and not looked_at:
                # Whether it is an expression does not depend on what was captured.
                await dependencies.review.matching(asker, wanted.expression, [])
            break
        # A hundred large bodies take a second to open: not in the loop's thread.
        readable = await asyncio.to_thread(_readable_of, batch, dependencies)
        if wanted.expression is None:
            fitting = {one.kept.exchange_id for one in readable}
        else:
            documents = [one.for_review() for one in readable]
            fitting = await dependencies.review.matching(asker, wanted.expression, documents)
        by_id = {one.kept.exchange_id: one for one in readable}
        for kept in batch:
            looked_at += 1
            cursor = kept.exchange_id
            if kept.exchange_id in fitting:
                found.append(by_id[kept.exchange_id])
                if len(found) == limit:
                    is_more = True
                    break
    if wanted.expression is not None:
        ids: list[JsonValue] = [one.kept.exchange_id for one in found]
        data: JsonObject = {"filter": wanted.expression, "looked_at": looked_at, "found": ids}
        async with administer(principal, dependencies) as change:
            await change.record(EventType.TRAFFIC_READ, data)
    return Searched(found, looked_at, cursor if is_more else None)


async def _batch(
    principal: Principal, dependencies: Dependencies, wanted: WantedTraffic, cursor: str | None
) -> list[Kept]:
    async with dependencies.database.transaction(principal.org_id) as connection:
        return await exchanges_with_content(connection, principal.org_id, wanted.columns, limit=_BATCH, cursor=cursor)


def _readable_of(batch: Sequence[Kept], dependencies: Dependencies) -> list[Opened]:
    """One that does not open any more (its key has gone) hides no others."""
    readable: list[Opened] = []
    for kept in batch:
        with suppress(UnavailableError):
            readable.append(opened(kept, dependencies))
    return readable
