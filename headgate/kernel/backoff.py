"""How long to wait before something is tried again. Pure: chance is passed in."""

from msgspec import Struct


class Backoff(Struct, frozen=True):
    """Exponential, capped, and with jitter ("equal jitter": half of the wait is certain, half is chance, so that what
    failed together does not come back together; M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog).
    """

    first_seconds: float = 1.0
    factor: float = 2.0
    cap_seconds: float = 300.0
    most_attempts: int = 5

    def wait_seconds(self, attempt: int, chance: float) -> float | None:
        """After the ``attempt``-th attempt (from 1) failed; None: it was the last. ``chance`` in [0, 1)."""
        return None if attempt >= self.most_attempts else self.pause_seconds(attempt, chance)

    def pause_seconds(self, attempt: int, chance: float) -> float:
        """As ``wait_seconds``, however many attempts there were."""
        # The exponent is bounded before the power is taken: a large one is an overflow, not a long wait.
        whole = min(self.first_seconds * self.factor ** min(attempt - 1, 64), self.cap_seconds)
        return whole / 2 + whole / 2 * chance
