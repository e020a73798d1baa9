"""Counting in the path of every request: in this process's memory, handed to Prometheus by a timer.

A metric of several processes lives in files that are shared: each observation there costs as much as mapping a
request (measured: a twentieth of the proxy's CPU). Here it is an addition to a list.
"""

from bisect import bisect_left
from typing import Final

from prometheus_client import Counter, Histogram

FLUSH_SECONDS: Final = 0.5


class TalliedHistogram:
    """``observe`` counts; ``flush`` adds what was counted to ``histogram`` (one without labels, or a child).

    Stands on the members in which prometheus_client keeps a histogram; a test compares with its ``observe``.
    """

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        # The last bound is infinity.
        self._bounds = histogram._upper_bounds[:-1]
        self._counts = [0] * len(histogram._upper_bounds)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def flush(self) -> None:
        counts, self._counts = self._counts, [0] * len(self._counts)
        total, self._sum = self._sum, 0.0
        for bucket, count in zip(self._histogram._buckets, counts, strict=True):
            if count:
                bucket.inc(count)
        if total:
            self._histogram._sum.inc(total)


class TalliedCounter:
    """As TalliedHistogram, for a counter."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._count = 0

    def inc(self) -> None:
        self._count += 1

    def flush(self) -> None:
        count, self._count = self._count, 0
        if count:
            self._counter.inc(count)
