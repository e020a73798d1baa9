"""Times as clients write them (ISO 8601): an instant in a body, and the ends of a range, where a day may stand too."""

import re
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Final

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from headgate.kernel.errors import ValidationError

_LAST_OF_DAY: Final = time(23, 59, 59, 999999, tzinfo=UTC)
_FIRST_OF_DAY: Final = time(0, tzinfo=UTC)
_FORMS: Final = {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "format": "date"}]}

InstantText = Annotated[str, Field(max_length=64), WithJsonSchema(_FORMS)]
"""One end of a range, as ``range_of_time`` reads it."""

_DATE_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]")


def _written(value: Any) -> Any:
    """Pydantic takes a number, also in a text, for seconds since 1970 or for milliseconds, by its size."""
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE_TIME.match(value)):
        return value
    raise PydanticCustomError("instant", "must be an ISO 8601 date-time, such as 2026-11-21T08:00:00Z")


def _utc(instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError as error:
        raise PydanticCustomError("instant", "must be a time of the years 1 to 9999 in UTC") from error


Instant = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_utc)]
"""A member of a body, in UTC: an answer shows it as every other time."""

# A "+" that was not percent-encoded in a query arrives as a space.
_LOST_PLUS: Final = re.compile(r" (\d\d:?\d\d)$")


def range_of_time(start_date: str | None, end_date: str | None) -> tuple[datetime | None, datetime | None]:
    """Both ends, inclusive. Raises ValidationError, also where the range ends before it starts."""
    start = None if start_date is None else _instant("start_date", start_date, _FIRST_OF_DAY)
    end = None if end_date is None else _instant("end_date", end_date, _LAST_OF_DAY)
    if start is not None and end is not None and end < start:
        raise ValidationError(
            "end_date is before start_date", details={"field": "end_date", "reason": "before start_date"}
        )
    return start, end


def _instant(field: str, text: str, time_of_day: time) -> datetime:
    """A time without an offset is UTC; a date alone is the whole day."""
    try:
        if len(text) == len("2026-11-21"):
            return datetime.combine(date.fromisoformat(text), time_of_day)
        parsed = datetime.fromisoformat(_LOST_PLUS.sub(r"+\1", text))
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValidationError(
            f"{field}: not an ISO 8601 date or date-time", details={"field": field, "reason": "not ISO 8601"}
        ) from error
