"""A sliding window, exact: no more than ``count`` requests in any stretch of ``period_seconds``, wherever it begins.

The moments of the requests that were let through are kept, oldest first, and never more than ``count`` of them: a
refusal costs nothing and is not kept. (A bucket that refills, as ``gcra`` is, lets nearly twice the quota through in
the first period; the specification says requests "per 1 minute".)

Times are integers, microseconds of a clock that is passed in.
"""

from collections import deque
from contextlib import suppress

from headgate.ratelimits.gcra import Quota, Verdict


def decide(quota: Quota, let_through_us: deque[int], now_us: int) -> Verdict:
    """The verdict on one request; what is kept of its subject is brought up to date."""
    while let_through_us and let_through_us[0] <= now_us - quota.period_us:
        let_through_us.popleft()
    if len(let_through_us) < quota.count:
        let_through_us.append(now_us)
        return Verdict(True, quota.count, quota.count - len(let_through_us), now_us + quota.period_us, 0)
    # Where the quota was larger before, more than one has to leave.
    leaves_us = let_through_us[len(let_through_us) - quota.count] + quota.period_us
    return Verdict(False, quota.count, 0, let_through_us[-1] + quota.period_us, leaves_us - now_us)


def settle(quota: Quota, let_through_us: deque[int], reserved: Verdict, let_through_at_us: int | None) -> None:
    """Replaces the place of a request that was allowed here by the moment another count let it through, if it did.

    The later moment counts, so that both counts free the place no earlier than this one says.
    """
    with suppress(ValueError):  # it has left already
        let_through_us.remove(reserved.reset_at_us - quota.period_us)
        if let_through_at_us is not None:
            let_through_us.append(let_through_at_us)
