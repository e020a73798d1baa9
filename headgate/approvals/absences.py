"""An absence: a person is away for a period and names a delegate who decides meanwhile.

Delegation does not chain. A delegate gets the absent person's own assignments, not those which that person holds as a
delegate. A person has at most one delegate at a time.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ValidationError

ABSENCE_LONGEST: Final = timedelta(days=366)
NOTE_MAX_CHARACTERS: Final = 500


class Absence(Struct, frozen=True):
    """Cancelling an absence moves ``ends_at`` to the moment of the cancellation."""

    absence_id: str
    user_id: str
    stand_in: str
    starts_at: datetime
    ends_at: datetime
    note: str | None
    created_by: str | None
    created_at: datetime


def checked_absence(absence: Absence) -> Absence:
    """Raises ValidationError."""
    if absence.user_id == absence.stand_in:
        raise _invalid("stand_in", "must be another person")
    if absence.ends_at <= absence.starts_at:
        raise _invalid("until", "must be after from")
    if absence.ends_at <= absence.created_at:
        raise _invalid("until", f"is in the past: it is {rfc3339(absence.created_at)} now")
    if absence.ends_at - absence.starts_at > ABSENCE_LONGEST:
        raise _invalid("until", f"is more than {ABSENCE_LONGEST.days} days after from")
    return absence


def _invalid(field: str, reason: str) -> ValidationError:
    return ValidationError(f"{field} {reason}", details={"field": field, "reason": reason})
