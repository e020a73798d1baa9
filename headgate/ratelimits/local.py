"""Rate limits of one process: the proxy's fast path, and what stands in where Valkey is gone."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from headgate.ratelimits.classes import DEFAULT_QUOTAS, RateClass
from headgate.ratelimits.gcra import Quota, Verdict, decide

_NANOSECONDS_IN_MICROSECOND: Final = 1_000


def wall_clock_us() -> int:
    """Now, in microseconds since the epoch."""
    return time.time_ns() // _NANOSECONDS_IN_MICROSECOND


class LocalLimiter:
    """Decides at once and without waiting. Memory is bounded: subjects with a full bucket are forgotten, and
    above ``max_subjects`` those that have been known the longest."""

    def __init__(
        self,
        quotas: Mapping[RateClass, Quota] = DEFAULT_QUOTAS,
        *,
        clock_us: Callable[[], int] = wall_clock_us,
        max_subjects: int = 50_000,
    ) -> None:
        self._quotas = quotas
        self._clock_us = clock_us
        self._max_subjects = max_subjects
        self._tats: dict[tuple[RateClass, str], int] = {}

    def check(self, rate_class: RateClass, subject: str, quota: Quota | None = None) -> Verdict:
        """Count one request of this subject (an agent, a key, a user). ``quota``: its own instead of its class'."""
        now_us = self._clock_us()
        key = (rate_class, subject)
        known = self._tats.get(key)
        verdict, tat_us = decide(quota or self._quotas[rate_class], known, now_us)
        if known is None and len(self._tats) >= self._max_subjects:
            self._make_room(now_us)
        self._tats[key] = tat_us
        return verdict

    def _make_room(self, now_us: int) -> None:
        self._tats = {key: tat_us for key, tat_us in self._tats.items() if tat_us > now_us}
        # Still full: a tenth at a time, so that a flood of new subjects does not cost a sweep for each.
        if len(self._tats) >= self._max_subjects:
            for key in list(self._tats)[: max(1, self._max_subjects // 10)]:
                del self._tats[key]
