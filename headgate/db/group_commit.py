"""Group commit: what queued up while the previous transaction committed is the next one.

One fsync serves every request in flight. The window is zero for records in the path of a request (waiting
2 ms costs 2.7 ms of median latency and gains 2 %, measured); outcomes, which nobody waits for, may gather longer.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

import structlog
from psycopg import pq

from headgate.db.prepared_call import PreparedCall, StatementRefusedError
from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet

_OPEN_SECONDS: Final = 2.0
"""For opening a connection at its first use. After that the rows that wait fail, as without a connection."""

_log = structlog.get_logger(__name__)


class BatchObserver(Protocol):
    """Told of each batch that was committed, for the metrics."""

    def __call__(self, *, rows: int, seconds: float) -> None: ...


class GroupCommit[Row, Answer]:
    """Rows in, answers out, one statement at a time. The first rows open a call that nothing has opened.

    ``encode`` makes the parameters of a batch, ``decode`` one answer a row, in order. A batch that the server
    refuses is tried again row by row, so that one bad row refuses one call.
    """

    def __init__(
        self,
        call: PreparedCall,
        *,
        encode: Callable[[Sequence[Row]], list[bytes]],
        decode: Callable[[pq.abc.PGresult, int], list[Answer]],
        window_seconds: float = 0.0,
        max_rows: int = 512,
        max_queued: int = 20_000,
        observe: BatchObserver | None = None,
    ) -> None:
        self._call = call
        self._encode = encode
        self._decode = decode
        self._window_seconds = window_seconds
        self._max_rows = max_rows
        self._max_queued = max_queued
        self._observe = observe
        self._queue: list[tuple[Row, asyncio.Future[Answer]]] = []
        self._armed = False
        self._committing = False
        self._idle = asyncio.Event()
        self._opening = TaskSet(lambda name, error: _log.critical("record_not_opened", error=repr(error)))

    def submit(self, row: Row) -> asyncio.Future[Answer]:
        """The answer once the row's transaction has committed; StatementRefusedError or UnavailableError else."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if len(self._queue) >= self._max_queued:
            future.set_exception(UnavailableError("too many records wait for the database", retry_after_seconds=1))
            return future
        self._queue.append((row, future))
        self._arm()
        return future

    async def drain(self) -> None:
        """Wait until nothing is queued or under way (for an orderly stop)."""
        while self._queue or self._committing:
            self._idle.clear()
            await self._idle.wait()

    def _arm(self) -> None:
        # Called after every submit and after every commit: a window that closed while a commit ran opens again.
        if self._armed or self._committing or not self._queue:
            return
        if self._window_seconds:
            self._armed = True
            asyncio.get_running_loop().call_later(self._window_seconds, self._flush)
        else:
            self._flush()

    def _flush(self) -> None:
        self._armed = False
        batch, self._queue = self._queue[: self._max_rows], self._queue[self._max_rows :]
        self._committing = True
        if self._call.opened:
            self._send(batch, then=self._committed)
        else:
            self._opening.start(self._open_and_send(batch), name="record.open_and_send")

    async def _open_and_send(self, batch: list[tuple[Row, asyncio.Future[Answer]]]) -> None:
        """What is not opened in time goes on: to cancel it, psycopg would wait for the server. The call tells each row
        that there is no connection."""
        try:
            await asyncio.wait({self._opening.start(self._open(), name="record.open")}, timeout=_OPEN_SECONDS)
        finally:
            self._call.opened = True
            self._send(batch, then=self._committed)

    async def _open(self) -> None:
        with suppress(UnavailableError):  # connecting goes on
            await self._call.open()

    def _committed(self) -> None:
        self._committing = False
        self._arm()
        if not self._queue:
            self._idle.set()

    def _send(self, batch: list[tuple[Row, asyncio.Future[Answer]]], *, then: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()

        def answered(reply: pq.abc.PGresult | UnavailableError) -> None:
            if isinstance(reply, UnavailableError):
                self._fail(batch, reply, then)
                return
            try:
                answers = list(zip(batch, self._decode(reply, len(batch)), strict=True))
            except Exception as error:  # noqa: BLE001 - an answer that says nothing of a row admits none
                self._fail(batch, UnavailableError(f"the record's answer is not clear: {error!r}"), then)
                return
            for (_, future), answer in answers:
                if not future.done():
                    future.set_result(answer)
            if self._observe is not None:
                self._observe(rows=len(batch), seconds=loop.time() - started)
            then()

        try:
            self._call.call(self._encode([row for row, _ in batch]), answered)
        except UnavailableError as error:  # the keys cannot be read
            _log.error("record_not_encoded", cause=str(error))
            loop.call_soon(self._fail, batch, error, then)
        except Exception as error:  # noqa: BLE001 - whatever a row raises while encoding refuses it, never hangs it
            refused = StatementRefusedError(f"the record could not be encoded: {type(error).__name__}")
            loop.call_soon(self._fail, batch, refused, then)

    def _fail(
        self, batch: list[tuple[Row, asyncio.Future[Answer]]], error: BaseException, then: Callable[[], None]
    ) -> None:
        if isinstance(error, StatementRefusedError) and len(batch) > 1:
            _log.warning("record_batch_split", rows=len(batch))
            self._send_one_by_one(batch, then)
            return
        for _, future in batch:
            if not future.done():
                future.set_exception(error)
                # A caller that went away does not fetch it; that is not a mistake of the loop's.
                future.exception()
        then()

    def _send_one_by_one(self, batch: list[tuple[Row, asyncio.Future[Answer]]], then: Callable[[], None]) -> None:
        first, rest = batch[:1], batch[1:]
        self._send(first, then=(lambda: self._send_one_by_one(rest, then)) if rest else then)
