"""How many of a worker's places one receiver may take: a few, and one while it fails.

A receiver that never answers takes its time-out for each message; without this it would take every place, and others'
messages would wait behind its (bulkhead and breaker: M. Nygard, "Release It!"). A burst to one that answers waits for
its turn where it is, which is shorter than a way through the queue.
"""

import asyncio
from collections import Counter, defaultdict, deque
from typing import Final

_FAILING_AFTER: Final = 3
_PATIENCE_SECONDS: Final = 0.5


class Turns:
    """Of one process: others do the same, so that a receiver sees a few more where there are several workers."""

    def __init__(self, most: int, *, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._most = most
        self._patience_seconds = patience_seconds
        self._running: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._waiting: defaultdict[str, deque[asyncio.Future[None]]] = defaultdict(deque)

    async def take(self, target: str) -> bool:
        """Whether it is this receiver's turn, now or within the patience; what took one gives it back."""
        is_failing = self._failures[target] >= _FAILING_AFTER
        if self._running[target] < (1 if is_failing else self._most):
            self._running[target] += 1
            return True
        return not is_failing and await self._wait(target)

    def give_back(self, target: str, *, succeeded: bool) -> None:
        if succeeded:
            del self._failures[target]
        else:
            self._failures[target] += 1
        if self._failures[target] < _FAILING_AFTER and self._hand_over(target):
            return
        self._running[target] -= 1
        if not self._running[target]:
            del self._running[target]

    async def _wait(self, target: str) -> bool:
        turn = asyncio.get_running_loop().create_future()
        waiting = self._waiting[target]
        waiting.append(turn)
        try:
            async with asyncio.timeout(self._patience_seconds):
                await turn
        except TimeoutError:
            # It may have been handed over in the moment in which the patience ended.
            return turn.done() and not turn.cancelled()
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(target, succeeded=True)
            raise
        finally:
            if turn in waiting:
                waiting.remove(turn)
            if not waiting:
                self._waiting.pop(target, None)
        return True

    def _hand_over(self, target: str) -> bool:
        """To the one that waits longest, without giving the place up in between: nobody comes first who came later."""
        waiting = self._waiting.get(target, ())
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return True
        return False
