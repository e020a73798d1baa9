"""A person names a delegate for an absence; an administrator may do it for them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from headgate.approvals.absence_store import (
    absences_are_changed_one_at_a_time,
    end_absence,
    find_absence,
    insert_absence,
    overlapping,
)
from headgate.approvals.absences import Absence, checked_absence
from headgate.audit.model import EventType
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, ForbiddenError, NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.change import OrganizationChange
from headgate.organizations.model import User
from headgate.organizations.store import find_users, find_users_by_email


class AbsenceRequest(Struct, frozen=True):
    """Creates an absence of ``user_id`` (None: the caller). ``stand_in`` is the delegate's user id or e-mail address;
    ``starts_at`` None means now."""

    stand_in: str
    starts_at: datetime | None
    ends_at: datetime
    note: str | None
    user_id: str | None = None


async def announce_absence(change: OrganizationChange, request: AbsenceRequest, *, is_admin: bool) -> Absence:
    """Raises ValidationError, ForbiddenError (not the caller's absence) or ConflictError (a delegate exists for that
    time)."""
    user_id = request.user_id or change.user_id
    if user_id is None:
        raise ValidationError(
            "This key belongs to no user: name the user of the absence.",
            details={"field": "user_id", "reason": "required"},
        )
    if user_id != change.user_id and not is_admin:
        raise ForbiddenError("Only admin:* may name a delegate for another person.")
    if user_id not in await find_users(change.connection, change.org_id, [user_id]):
        raise _unknown("user_id", user_id)
    await absences_are_changed_one_at_a_time(change.connection, change.org_id, user_id)
    absence = checked_absence(
        Absence(
            absence_id=new_id(IdPrefix.ABSENCE),
            user_id=user_id,
            stand_in=await _stand_in(change.connection, change.org_id, request.stand_in),
            starts_at=request.starts_at or change.at,
            ends_at=request.ends_at,
            note=request.note,
            created_by=change.user_id,
            created_at=change.at,
        )
    )
    other = await overlapping(change.connection, change.org_id, user_id, absence.starts_at, absence.ends_at)
    if other is not None:
        user = (await find_users(change.connection, change.org_id, [other.stand_in])).get(other.stand_in)
        named = other.stand_in if user is None else user.email or user.name or other.stand_in
        raise ConflictError(
            f"{named} is already the delegate from {_minute(other.starts_at)} to {_minute(other.ends_at)} UTC",
            details={"absence_id": other.absence_id, "stand_in": other.stand_in},
        )
    await insert_absence(change.connection, change.org_id, absence)
    await change.record(EventType.ABSENCE_CREATED, _data(absence))
    return absence


async def call_off_absence(change: OrganizationChange, absence_id: str, *, is_admin: bool) -> Absence:
    """Ends the absence now. Raises NotFoundError, ForbiddenError or ConflictError (the absence is over)."""
    absence = await find_absence(change.connection, change.org_id, absence_id)
    if absence is None:
        raise NotFoundError(f"there is no absence {absence_id}")
    if absence.user_id != change.user_id and not is_admin:
        raise ForbiddenError("Only the absent person or admin:* may end an absence.")
    if absence.ends_at <= change.at:
        raise ConflictError(f"the absence ended at {rfc3339(absence.ends_at)}")
    await end_absence(change.connection, change.org_id, absence_id, change.at)
    ended = await find_absence(change.connection, change.org_id, absence_id)
    await change.record(EventType.ABSENCE_ENDED, _data(ended or absence))
    return ended or absence


async def _stand_in(connection: Connection, org_id: str, written: str) -> str:
    if "@" not in written:
        users: Sequence[User] = list((await find_users(connection, org_id, [written])).values())
    else:
        users = await find_users_by_email(connection, org_id, written)
    active = [user for user in users if user.deactivated_at is None]
    if len(active) != 1:
        raise (
            _unknown("stand_in", written)
            if not active
            else ValidationError(
                f"{written} matches several users: use an id",
                details={"field": "stand_in", "reason": "ambiguous", "users": [user.user_id for user in active]},
            )
        )
    return active[0].user_id


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def _unknown(field: str, written: str) -> ValidationError:
    return ValidationError(
        f"{field}: there is no active user {written[:100]} here (a person must have signed in once)",
        details={"field": field, "reason": "no such user"},
    )


def _data(absence: Absence) -> JsonObject:
    return {
        "absence_id": absence.absence_id,
        "user_id": absence.user_id,
        "stand_in": absence.stand_in,
        "from": rfc3339(absence.starts_at),
        "until": rfc3339(absence.ends_at),
    }
