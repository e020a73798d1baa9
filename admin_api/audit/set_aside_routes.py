"""/admin/audit/set-aside: entries of the journal that could not be applied, and applying one of them later."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from admin_api.change import change_by
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import JournalEntryId
from admin_api.schema import BaseModel
from headgate.journal.apply_set_aside import apply_set_aside
from headgate.journal.set_aside import SetAside, SetAsideKind, action_of, kind_of, parse_entry_id
from headgate.journal.set_aside_store import list_set_aside

router = APIRouter(route_class=GuardedRoute, tags=["audit"])


class SetAsideAnswer(BaseModel):
    """``attestation``: says only what a process has written. ``unreadable``: damaged bytes. Neither can be applied."""

    id: str = Field(description="The number of the journal's row, and the place within it.")
    kind: SetAsideKind
    action_id: str | None
    bytes: int
    failure: str = Field(description="Why it could not be applied.")
    set_aside_at: datetime


class SetAsideListAnswer(BaseModel):
    """The oldest first."""

    data: list[SetAsideAnswer]


@router.get("/admin/audit/set-aside")
async def list_entries(
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SetAsideListAnswer:
    """Lists entries of the journal that could not be applied. No other list or table shows them."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_set_aside(connection, principal.org_id, limit=limit)
    return SetAsideListAnswer(data=[_answer(one) for one in found])


@router.post("/admin/audit/set-aside/{entry}/apply")
async def apply(
    entry: JournalEntryId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> SetAsideAnswer:
    """Applies an entry that was set aside, after the cause is mended. The event `journal_entry.applied` records it. 409
    with the reason if it still cannot be applied: it stays set aside."""
    journal_id, position = parse_entry_id(entry)
    by = change_by(principal, dependencies)
    return _answer(await apply_set_aside(dependencies.database, by, journal_id, position))


def _answer(one: SetAside) -> SetAsideAnswer:
    return SetAsideAnswer(
        id=one.entry_id,
        kind=kind_of(one),
        action_id=action_of(one),
        bytes=len(one.entry),
        failure=one.failure,
        set_aside_at=one.set_aside_at,
    )
