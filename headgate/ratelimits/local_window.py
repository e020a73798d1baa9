"""The sliding windows of one process: they bound what it admits, with Valkey and without."""

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

from headgate.ratelimits.classes import DEFAULT_QUOTAS, RateClass
from headgate.ratelimits.gcra import Quota, Verdict
from headgate.ratelimits.local import wall_clock_us
from headgate.ratelimits.sliding_window import decide, settle


class LocalWindows:
    """Decides at once. Memory is bounded: above ``max_subjects`` those that were quiet the longest are forgotten."""

    def __init__(
        self,
        quotas: Mapping[RateClass, Quota] = DEFAULT_QUOTAS,
        *,
        clock_us: Callable[[], int] = wall_clock_us,
        max_subjects: int = 10_000,
    ) -> None:
        self._quotas = quotas
        self._clock_us = clock_us
        self._max_subjects = max_subjects
        self._windows: OrderedDict[tuple[RateClass, str], deque[int]] = OrderedDict()

    def check(self, rate_class: RateClass, subject: str, quota: Quota | None = None) -> Verdict:
        """Count one request. ``quota``: the subject's own instead of its class'."""
        key = (rate_class, subject)
        window = self._windows.setdefault(key, deque())
        self._windows.move_to_end(key)
        if len(self._windows) > self._max_subjects:
            self._windows.popitem(last=False)
        return decide(quota or self._quotas[rate_class], window, self._clock_us())

    def settle(
        self, rate_class: RateClass, subject: str, reserved: Verdict, *, allowed: bool, quota: Quota | None = None
    ) -> None:
        """Replaces the place that this window gave a request by what was decided elsewhere about it."""
        window = self._windows.get((rate_class, subject))
        if window is not None:
            settle(quota or self._quotas[rate_class], window, reserved, self._clock_us() if allowed else None)
