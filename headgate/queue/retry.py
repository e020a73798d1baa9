"""Our backoff in procrastinate's terms: its own strategy has neither a cap nor jitter."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from procrastinate.jobs import Job as StoredJob
from procrastinate.retry import BaseRetryStrategy, RetryDecision

from headgate.kernel.backoff import Backoff
from headgate.queue.model import RetryLater


class CappedBackoff(BaseRetryStrategy):
    """Tries again after whatever was raised, until the backoff says that it was the last attempt."""

    def __init__(self, backoff: Backoff, chance: Callable[[], float] = random.random) -> None:
        self._backoff = backoff
        self._chance = chance

    def get_retry_decision(self, *, exception: BaseException, job: StoredJob) -> RetryDecision | None:
        wait_seconds = self._backoff.wait_seconds(job.attempts + 1, self._chance())
        if wait_seconds is None:
            return None
        if isinstance(exception, RetryLater):
            wait_seconds = exception.after_seconds
        return RetryDecision(retry_at=datetime.now(UTC) + timedelta(seconds=wait_seconds))

    def is_last(self, job: StoredJob) -> bool:
        """Whether the attempt under way is not followed by another."""
        return job.attempts + 1 >= self._backoff.most_attempts
