"""GET /admin/audit/export: everything that a filter finds, as a file that is written while it is read.

A stretch of events at a time, each in a transaction of its own, so that neither memory nor a connection depends on
how many there are or how slowly they are taken. That somebody took them is recorded before the first byte leaves.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from msgspec import Struct
from starlette.responses import StreamingResponse

from admin_api.audit.filters import CurrentFilter, resolve
from admin_api.audit.schemas import event_answer
from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from headgate.audit.export_formats import csv_head, csv_lines
from headgate.audit.feed_store import newest_seq
from headgate.audit.model import EventFilter, EventType, SealedEvent
from headgate.audit.store import events_before
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading

router = APIRouter(route_class=GuardedRoute, tags=["audit"])

_STRETCH: Final = 1_000
_MEDIA_TYPES: Final = {"csv": "text/csv; charset=utf-8; header=present", "jsonl": "application/x-ndjson"}

type ExportFormat = Literal["csv", "jsonl"]


@router.get("/admin/audit/export", response_class=StreamingResponse)
async def export(
    asked: CurrentFilter,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    format: Annotated[ExportFormat, Query()] = "jsonl",  # noqa: A002 - as the report request calls it
) -> StreamingResponse:
    """Exports audit events, newest first. JSON Lines have the events of the list without `call`. CSV has a header line,
    and no cell that a spreadsheet would run."""
    await apply_before_reading(dependencies.database, principal.org_id)
    async with administer(principal, dependencies) as change:
        wanted = await resolve(change.connection, principal.org_id, asked)
        last = await newest_seq(change.connection, principal.org_id)
        await change.record(EventType.AUDIT_EXPORTED, {"format": format, "filters": asked.given, "up_to_seq": last})
    source = _Source(dependencies.database, principal.org_id, wanted, last)
    return StreamingResponse(
        source.csv() if format == "csv" else source.json_lines(),
        media_type=_MEDIA_TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="audit-events.{format}"', "Cache-Control": "no-store"},
    )


class _Source(Struct, frozen=True):
    """``last``: the newest event at the time of asking; later ones are another export's."""

    database: Database
    org_id: str
    wanted: EventFilter
    last: int

    async def csv(self) -> AsyncIterator[bytes]:
        yield csv_head()
        async for events in self._stretches():
            yield csv_lines(events)

    async def json_lines(self) -> AsyncIterator[bytes]:
        async for events in self._stretches():
            yield b"".join(event_answer(one).model_dump_json().encode() + b"\n" for one in events)

    async def _stretches(self) -> AsyncIterator[list[SealedEvent]]:
        before: int | None = self.last + 1
        while before is not None:
            async with self.database.transaction(self.org_id) as connection:
                events, before = await events_before(connection, self.org_id, self.wanted, before, _STRETCH)
            if events:
                yield events
