"""How long keys last, and when one should be replaced (specification, "Authentication": at least every 90 days)."""

from datetime import datetime, timedelta
from typing import Final

from headgate.agents.model import ApiKey, KeyStatus

ROTATE_AFTER: Final = timedelta(days=90)
REMIND_BEFORE_END: Final = timedelta(days=7)
"""A key with an end is reminded of so long before it; one that lasts two weeks or less is not."""


def is_due(key: ApiKey, now: datetime) -> bool:
    """Whether this key works and is older than a key should be."""
    return key.status(now) is KeyStatus.ACTIVE and now - key.created_at >= ROTATE_AFTER


def expiry(lifetime_days: int | None, now: datetime) -> datetime | None:
    """When a key of this lifetime ends; None: never."""
    return None if lifetime_days is None else now + timedelta(days=lifetime_days)
