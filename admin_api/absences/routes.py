"""/v1/absences: name who decides in your place while you are away. An administrator may do it for anybody."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import AbsenceId, PersonName, UserId
from admin_api.instants import Instant
from admin_api.pagination import CountedPage, CurrentPage, counted_page
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.approvals.absence_store import list_absences
from headgate.approvals.absences import NOTE_MAX_CHARACTERS, Absence
from headgate.approvals.administer_absences import AbsenceRequest, announce_absence, call_off_absence
from headgate.db.database import Connection
from headgate.kernel.errors import ForbiddenError
from headgate.organizations.model import User
from headgate.organizations.store import find_users

router = APIRouter(route_class=GuardedRoute, tags=["approvals"])


class NewAbsence(BaseModel):
    """``stand_in``, the delegate: user id or email address. Default of ``from``: now. ``user_id`` needs admin:*."""

    model_config = ConfigDict(extra="forbid")

    stand_in: Annotated[PersonName, Field(min_length=1, max_length=320)]
    starts_at: Instant | None = Field(default=None, alias="from")
    ends_at: Instant = Field(alias="until")
    note: Annotated[StorableText, Field(max_length=NOTE_MAX_CHARACTERS)] | None = None
    user_id: UserId | None = None


class AbsenceAnswer(BaseModel):
    """Names are current: the name of a person, or the email address."""

    id: str
    user_id: str
    user_name: str | None
    stand_in: str
    stand_in_name: str | None
    starts_at: datetime = Field(serialization_alias="from")
    ends_at: datetime = Field(serialization_alias="until")
    note: str | None
    created_at: datetime


@router.get("/v1/absences", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[AbsenceAnswer]:
    """Lists absences that have not ended: your own and those for which you are the delegate. With admin:*, lists all
    absences."""
    _check_person(principal.agent_id)
    async with dependencies.database.transaction(principal.org_id) as connection:
        absences, total = await list_absences(
            connection,
            principal.org_id,
            user_id=None if principal.is_admin else principal.user_id or "",
            since=dependencies.clock(),
            limit=page.limit,
            offset=page.offset,
            exact_total=page.exact_total,
        )
        people = await _people(connection, principal.org_id, absences)
    return counted_page(page, [_answer(one, people) for one in absences], total.total, is_minimum=total.is_minimum)


@router.post("/v1/absences", status_code=201)
async def create(body: NewAbsence, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> AbsenceAnswer:
    """Creates an absence: your delegate may decide the requests that are assigned to you in this period."""
    _check_person(principal.agent_id)
    request = AbsenceRequest(body.stand_in, body.starts_at, body.ends_at, body.note, body.user_id)
    async with administer(principal, dependencies) as change:
        absence = await announce_absence(change, request, is_admin=principal.is_admin)
        people = await _people(change.connection, change.org_id, [absence])
    return _answer(absence, people)


@router.delete("/v1/absences/{id}")
async def call_off(id: AbsenceId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> AbsenceAnswer:  # noqa: A002 - as everywhere
    """Cancels or ends an absence. Decisions of the delegate stay valid."""
    async with administer(principal, dependencies) as change:
        absence = await call_off_absence(change, id, is_admin=principal.is_admin)
        people = await _people(change.connection, change.org_id, [absence])
    return _answer(absence, people)


def _check_person(agent_id: str | None) -> None:
    if agent_id is not None:
        raise ForbiddenError("An agent key cannot decide approvals or name a delegate.")


async def _people(connection: Connection, org_id: str, absences: Sequence[Absence]) -> Mapping[str, User]:
    named = {user_id for one in absences for user_id in (one.user_id, one.stand_in)}
    return await find_users(connection, org_id, sorted(named))


def _answer(absence: Absence, people: Mapping[str, User]) -> AbsenceAnswer:
    user, stand_in = people.get(absence.user_id), people.get(absence.stand_in)
    return AbsenceAnswer(
        id=absence.absence_id,
        user_id=absence.user_id,
        user_name=None if user is None else user.name or user.email,
        stand_in=absence.stand_in,
        stand_in_name=None if stand_in is None else stand_in.name or stand_in.email,
        starts_at=absence.starts_at,
        ends_at=absence.ends_at,
        note=absence.note,
        created_at=absence.created_at,
    )
