"""How often somebody may guess, decided from what was counted and the time. Pure.

An attempt counts as failed from the moment at which it begins, until it has succeeded: fifty at once are fifty. The
fifth from one place within the window locks that place; the twenty-fifth from all places together locks the person.
Somebody who has a stolen first factor thus locks out themselves, and the owner only from five places at once (OWASP,
Authentication Cheat Sheet, "Account Lockout"; an administrator unlocks). Each lock-out in a row lasts twice as long as
the one before, up to a day (NIST SP 800-63B-4, section 3.2.2, allows 100 failures in a row: they take a day and a half
here, and a TOTP of six digits is found by then with one chance in three thousand).
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import RateLimitedError

MOST_ATTEMPTS: Final = 5
MOST_FROM_EVERYWHERE: Final = 25
WINDOW: Final = timedelta(minutes=15)
FIRST_LOCK: Final = timedelta(minutes=15)
LONGEST_LOCK: Final = timedelta(days=1)


class Attempts(Struct, frozen=True):
    """Since the last success. ``lock_outs``: how many in a row."""

    count: int = 0
    began_at: datetime | None = None
    locked_until: datetime | None = None
    lock_outs: int = 0


class Counted(Struct, frozen=True):
    """From one place, and from all together."""

    here: Attempts
    everywhere: Attempts

    @property
    def lock(self) -> Attempts | None:
        """What this attempt has locked; the person, where it is both."""
        return next((one for one in (self.everywhere, self.here) if one.locked_until is not None), None)


def begin_attempt(known: Attempts, now: datetime, *, most: int = MOST_ATTEMPTS) -> Attempts:
    """What is counted when another attempt begins. Raises RateLimitedError while locked out."""
    if known.locked_until is not None and now < known.locked_until:
        seconds = int((known.locked_until - now).total_seconds()) + 1
        raise RateLimitedError(
            f"too many wrong codes. Try again in {seconds} s",
            details={"locked_until": known.locked_until.isoformat()},
            retry_after_seconds=seconds,
        )
    is_new = known.began_at is None or now - known.began_at >= WINDOW or known.locked_until is not None
    count = 1 if is_new else known.count + 1
    began_at = now if is_new else known.began_at
    if count < most:
        return Attempts(count, began_at, None, known.lock_outs)
    lasting = min(FIRST_LOCK * 2 ** min(known.lock_outs, 16), LONGEST_LOCK)
    return Attempts(count, began_at, now + lasting, known.lock_outs + 1)
