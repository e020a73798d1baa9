"""An answer that many may ask for each second and that is made once in a while: cheap whoever polls it."""

import asyncio
import time
from collections.abc import Awaitable, Callable


class Remembered[Value]:
    """``make`` runs once in ``seconds``, however many ask at the same moment; what it raises is not remembered."""

    def __init__(
        self, make: Callable[[], Awaitable[Value]], *, seconds: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._make = make
        self._seconds = seconds
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._kept: tuple[float, Value] | None = None

    async def get(self) -> Value:
        """The value of now, or of ``seconds`` ago at most."""
        async with self._lock:
            if self._kept is None or self._monotonic() - self._kept[0] >= self._seconds:
                self._kept = (self._monotonic(), await self._make())
            return self._kept[1]
