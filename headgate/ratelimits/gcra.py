"""The generic cell rate algorithm (ITU-T I.371, annex A; as in Brandur Leach's "Rate Limiting, Cells, and GCRA").

One number is kept for each subject: the theoretical arrival time (TAT), the moment at which its bucket is full
again. A request is allowed while the TAT, moved on by one emission interval, lies at most one period ahead: no
windows, so no double burst at a window's edge, and no counters to reset.

Times are integers, microseconds of a clock that is passed in.
"""

from typing import Final

from msgspec import Struct

_MICROSECONDS: Final = 1_000_000


class Quota(Struct, frozen=True):
    """``count`` requests in ``period_seconds``; all of them may come at once."""

    count: int
    period_seconds: int

    def __post_init__(self) -> None:
        if self.count < 1 or self.period_seconds < 1:
            raise ValueError(f"a quota is at least 1 in 1 second, got {self.count} in {self.period_seconds}")

    @property
    def period_us(self) -> int:
        return self.period_seconds * _MICROSECONDS

    @property
    def interval_us(self) -> int:
        """The emission interval: how long one request takes to be earned back."""
        return self.period_us // self.count


class Verdict(Struct, frozen=True):
    """What to do with one request and what to tell its sender. ``reset_at_us``: when the bucket is full again."""

    allowed: bool
    limit: int
    remaining: int
    reset_at_us: int
    retry_after_us: int

    @property
    def reset_at_seconds(self) -> int:
        """Whole seconds since the epoch, rounded up: never earlier than the truth."""
        return -(-self.reset_at_us // _MICROSECONDS)

    @property
    def retry_after_seconds(self) -> int:
        """At least one second, as Retry-After counts in whole ones (RFC 9110, section 10.2.3)."""
        return max(1, -(-self.retry_after_us // _MICROSECONDS))


def decide(quota: Quota, tat_us: int | None, now_us: int) -> tuple[Verdict, int]:
    """The verdict and the TAT to keep (unchanged where the request is refused: a refusal costs nothing)."""
    arrival_us = max(tat_us or 0, now_us)
    next_us = arrival_us + quota.interval_us
    # The earliest moment at which this request conforms.
    allow_at_us = next_us - quota.interval_us * quota.count
    if allow_at_us > now_us:
        return Verdict(False, quota.count, 0, arrival_us, allow_at_us - now_us), arrival_us
    return Verdict(True, quota.count, (now_us - allow_at_us) // quota.interval_us, next_us, 0), next_us
