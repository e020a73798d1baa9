"""A bounded queue between the process and a collector: nobody waits for it, and what does not fit is counted."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from prometheus_client import Counter

DROPPED: Final = Counter(
    "headgate_telemetry_dropped",
    "Spans and log lines that were not handed to the collector, by signal and cause: full (the queue was), failed (the"
    " collector did not take them).",
    ["signal", "cause"],
)

QUEUE_MAX: Final = 2048
BATCH_MAX: Final = 512
_PAUSE_SECONDS: Final = 1.0


class Batches[Item]:
    """``export`` runs in a thread of its own, with at most ``BATCH_MAX`` items; false: they are lost."""

    def __init__(self, signal: str, export: Callable[[Sequence[Item]], bool]) -> None:
        self._queue: deque[Item] = deque()
        self._export = export
        self._full = DROPPED.labels(signal, "full")
        self._failed = DROPPED.labels(signal, "failed")
        self._awake = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=f"telemetry-{signal}", daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Never waits and never raises. From any thread."""
        if len(self._queue) >= QUEUE_MAX:
            self._full.inc()
            return
        self._queue.append(item)
        if len(self._queue) == BATCH_MAX:
            self._awake.set()

    def close(self, wait_seconds: float) -> None:
        """Hands over what waits, for as long as this."""
        self._ended = True
        self._awake.set()
        self._thread.join(wait_seconds)

    def _run(self) -> None:
        while True:
            if not self._ended:
                self._awake.wait(_PAUSE_SECONDS)
                self._awake.clear()
            while batch := self._next():
                self._hand_over(batch)
            if self._ended:
                return

    def _next(self) -> list[Item]:
        return [self._queue.popleft() for _ in range(min(len(self._queue), BATCH_MAX))]

    def _hand_over(self, batch: list[Item]) -> None:
        try:
            taken = self._export(batch)
        except Exception:  # noqa: BLE001 - whatever an exporter raises, the process goes on without its telemetry
            taken = False
        if not taken:
            self._failed.inc(len(batch))
