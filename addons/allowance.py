"""A token bucket: a burst, and a rate per second after it."""


class Allowance:
    """``burst`` may come at once, and comes back with time; never more than that, so that whoever was silent for an
    hour has not saved up for a flood. Times in seconds, of a clock that only goes forward."""

    __slots__ = ("_burst", "_known_at_seconds", "_per_second", "_spent")

    def __init__(self, burst: float, per_second: float, now_seconds: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._spent = 0.0
        self._known_at_seconds = now_seconds

    def spend(self, cost: float, now_seconds: float) -> bool:
        """Whether there was so much left. A negative cost gives back."""
        earned_back = self._per_second * (now_seconds - self._known_at_seconds)
        self._spent = max(0.0, max(0.0, self._spent - earned_back) + cost)
        self._known_at_seconds = now_seconds
        return self._spent <= self._burst

    def has_left(self, cost: float, now_seconds: float) -> bool:
        """Whether ``spend`` would say so."""
        return self._spent - self._per_second * (now_seconds - self._known_at_seconds) + cost <= self._burst

    def is_untouched(self, now_seconds: float) -> bool:
        """Whether everything has come back, so that a new one would be the same."""
        return self._spent <= self._per_second * (now_seconds - self._known_at_seconds)
