"""One broken glass: for the next call that is exactly the denied one, once, for a short time.

It is bound to the action's digest like an approval. Its review stays open until somebody else than who opened it has
done it, used or not: what an emergency was, is judged after it (NIST SP 800-53, AC-2(2) and AC-3(10), audited override
of access control).
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

DEFAULT_SECONDS: Final = 900
SECONDS_MAX: Final = 3_600
REASON_MAX_CHARACTERS: Final = 500
WAITING_MAX: Final = 100
"""Not yet used and not yet over, of one organization."""


class ReviewOutcome(StrEnum):
    JUSTIFIED = "justified"
    NOT_JUSTIFIED = "not_justified"


class PassStatus(StrEnum):
    """What it may still do; whether it was reviewed is another matter."""

    WAITING = "waiting"
    USED = "used"
    EXPIRED = "expired"


class Review(Struct, frozen=True):
    by: str
    email: str | None
    at: datetime
    outcome: ReviewOutcome
    note: str | None


class BrokenGlass(Struct, frozen=True):
    """``action_id`` is the denied action, ``used_action_id`` the one that went through."""

    org_id: str
    pass_id: str
    action_id: str
    agent_id: str
    tool: str
    operation: str
    digest: bytes
    reason: str
    opened_by: str
    opened_by_email: str | None
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    used_action_id: str | None = None
    review: Review | None = None

    def status(self, now: datetime) -> PassStatus:
        if self.used_at is not None:
            return PassStatus.USED
        return PassStatus.WAITING if now < self.expires_at else PassStatus.EXPIRED
