"""How long a decision takes, by the clock on the wall and by the processor."""

from time import perf_counter_ns, thread_time_ns
from typing import Final

_SURELY_SHORT_NANOSECONDS: Final = 2_000_000


class Stopwatch:
    """Started when it is made, in the thread that decides."""

    __slots__ = ("_processor_ns", "_wall_ns")

    def __init__(self) -> None:
        self._wall_ns = perf_counter_ns()
        self._processor_ns = thread_time_ns()

    def wall_milliseconds(self) -> float:
        return round((perf_counter_ns() - self._wall_ns) / 1_000_000, 3)

    def processor_milliseconds(self) -> float:
        """What the thread had of the processor: on a busy machine less than has passed. What passed so far is the
        answer where it is short, since asking for the processor's time is a system call."""
        passed_ns = perf_counter_ns() - self._wall_ns
        if passed_ns > _SURELY_SHORT_NANOSECONDS:
            passed_ns = min(passed_ns, thread_time_ns() - self._processor_ns)
        return passed_ns / 1_000_000
