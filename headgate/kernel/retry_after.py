"""What Retry-After says (RFC 9110, section 10.2.3): seconds, or a date."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_of(value: str) -> float | None:
    """None where it is a date, or nothing that is known: the asker's own schedule says when."""
    return float(value[:12]) if value.isascii() and value.isdigit() else None


def seconds_until(value: str, now: datetime) -> float | None:
    """A date counts too."""
    if (seconds := seconds_of(value)) is not None:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # the latter for a zone further away than numbers go
        return None
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds())
