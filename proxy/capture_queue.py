"""Between requests and the spool: a bounded queue in memory, and one thread that writes.

Nobody waits for it. What does not fit is counted as lost (``headgate.traffic.model.Loss``), and the count is written
with what comes next.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import structlog

from headgate.kernel.errors import HeadgateError
from headgate.traffic.model import Captured, Loss
from headgate.traffic.spool_writer import Encoded, SpoolWriter
from headgate.traffic.wire import encode_captured

_log = structlog.get_logger(__name__)

QUEUE_BYTES: Final = 32 << 20
_WRITE_SECONDS: Final = 0.1
_FINISH_SECONDS: Final = 0.5


class CaptureQueue:
    """``bytes`` are those of exchanges that end, and of answers that are still coming."""

    def __init__(self, writer: SpoolWriter, *, most_bytes: int = QUEUE_BYTES) -> None:
        self._writer = writer
        self._most_bytes = most_bytes
        self._bytes = 0
        self._waiting: list[Encoded] = []
        self._lost: list[tuple[str, Loss]] = []
        self._has_come = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="captures")

    @property
    def is_used(self) -> bool:
        """Whether this process has captured anything yet."""
        return self._writer.is_used

    @property
    def spool_bytes(self) -> int:
        """What waits on this machine to be masked, half a second ago."""
        return self._writer.used_bytes

    def begin(self, org_id: str) -> None:
        """From here on the exchange comes, or is counted as lost."""
        self._writer.begin(org_id)

    def reserve(self, size: int) -> bool:
        """Room for what is kept while its answer is still coming; False: there is none."""
        if self._bytes + size > self._most_bytes:
            return False
        self._bytes += size
        return True

    def release(self, size: int) -> None:
        self._bytes -= size

    def submit(self, captured: Captured) -> None:
        """Its room is released by whoever reserved it; here it takes its own."""
        try:
            content = encode_captured(captured)
        except HeadgateError as error:
            _log.error("capture_not_encoded", exchange_id=captured.exchange_id, error=error.message)
            self.lose(captured.org_id, Loss.NOT_MASKED)
            return
        if not self.reserve(len(content)):
            self.lose(captured.org_id, Loss.QUEUE_FULL)
            return
        self._waiting.append((captured.org_id, content))
        self._has_come.set()

    def lose(self, org_id: str, cause: Loss) -> None:
        self._lost.append((org_id, cause))
        self._has_come.set()

    async def keep_writing(self) -> None:
        """For ever; what has been written is handed over when nothing more comes for half a second, at the latest."""
        finish_at = 0.0
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with asyncio.timeout(_FINISH_SECONDS):
                    await self._has_come.wait()
            except TimeoutError:
                await self._in_thread(self._writer.finish)
                continue
            await asyncio.sleep(_WRITE_SECONDS)
            await self._write()
            if loop.time() >= finish_at:
                await self._in_thread(self._writer.finish)
                finish_at = loop.time() + _FINISH_SECONDS

    async def close(self) -> None:
        await self._write()
        await self._in_thread(self._writer.close)
        self._thread.shutdown()

    async def _write(self) -> None:
        self._has_come.clear()
        waiting, self._waiting = self._waiting, []
        lost, self._lost = self._lost, []
        try:
            await self._in_thread(partial(self._write_all, waiting, lost))
        finally:
            self._bytes -= sum(len(content) for _, content in waiting)

    async def _in_thread(self, work: Callable[[], None]) -> None:
        """One after another, also where whoever asked was cancelled meanwhile."""
        await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _write_all(self, waiting: list[Encoded], lost: list[tuple[str, Loss]]) -> None:
        for org_id, cause in lost:
            self._writer.lose(org_id, cause)
        self._writer.write(waiting)
