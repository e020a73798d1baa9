"""How long a decision takes, by the clock on the wall and by the processor."""

import gc
from threading import local
from time import perf_counter_ns, thread_time_ns
from typing import Any, Final

_SURELY_SHORT_NANOSECONDS: Final = 2_000_000
_OLDEST_GENERATION: Final = 2


class _Collections(local):
    """Processor time that full collections of garbage took in the thread that asks. With thousands of held calls in
    memory one takes a fifth of a second, and it begins in whatever allocates next. Younger generations are short."""

    taken_ns = 0
    _began_ns: int | None = None

    def note(self, phase: str, info: dict[str, Any]) -> None:
        """As ``gc.callbacks`` are called."""
        if info["generation"] != _OLDEST_GENERATION:
            return
        if phase == "start":
            self._began_ns = thread_time_ns()
        elif self._began_ns is not None:
            self.taken_ns += thread_time_ns() - self._began_ns
            self._began_ns = None


_collections: Final = _Collections()
gc.callbacks.append(_collections.note)


class Stopwatch:
    """Started when it is made, in the thread that decides."""

    __slots__ = ("_collections_ns", "_processor_ns", "_wall_ns")

    def __init__(self) -> None:
        self._wall_ns = perf_counter_ns()
        self._processor_ns = thread_time_ns()
        self._collections_ns = _collections.taken_ns

    def wall_milliseconds(self) -> float:
        return round((perf_counter_ns() - self._wall_ns) / 1_000_000, 3)

    def processor_milliseconds(self) -> float:
        """What the thread had of the processor, less full collections of garbage, which no policy causes: on a busy
        machine less than has passed. What passed so far is the answer where it is short, since asking for the
        processor's time is a system call."""
        passed_ns = perf_counter_ns() - self._wall_ns
        if passed_ns > _SURELY_SHORT_NANOSECONDS:
            collections_ns = _collections.taken_ns - self._collections_ns
            passed_ns = min(passed_ns, thread_time_ns() - self._processor_ns - collections_ns)
        return passed_ns / 1_000_000
