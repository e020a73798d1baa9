"""Making a report, in the worker: verify the run against its checkpoint, feed it to a child, keep the file.

At most once, whatever happens to workers: the file and the word that it is ready are one transaction, which counts only
for the attempt that still has the report. A killed worker's attempt is made again once by the queue.
"""

import asyncio
import tempfile
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

import structlog
from msgspec import Struct
from msgspec.structs import replace

from headgate.audit.chain_store import WINDOW_EVENTS, fetch_window
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Database
from headgate.evidence.checkpoint import Checkpoint
from headgate.evidence.note import VerifierKey
from headgate.evidence.signing_keys import SigningKeySource
from headgate.evidence.verify_record import read_points, verify_numbers
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, HeadgateError, NotFoundError, UnavailableError
from headgate.kernel.tasks import TaskSet
from headgate.queue.model import JobReference
from headgate.reports.basis import Basis
from headgate.reports.frames import chain_row
from headgate.reports.model import Progress, Report, Result, Stage
from headgate.reports.render_process import RENDER_SECONDS, RenderError, RenderProcess
from headgate.reports.run_store import find_basis
from headgate.reports.service import MOST_ATTEMPTS, MOST_REPORT_BYTES, about
from headgate.reports.store import claim_report, fail_report, get_report, keep_file, save_progress

_log = structlog.get_logger(__name__)

_TELL_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.5
_WAIT_SECONDS: Final = 30.0
_COPY_BYTES: Final = 1 << 20
_TRIED: Final = "tried twice, and neither attempt has come to its end: its worker was killed, or the database was away"
_NO_KEY: Final = (
    "a checkpoint covers this range, and its signature could not be checked: this worker does not have the key"
)


class _TakenOverError(Exception):
    """Another attempt makes it, or somebody has deleted it."""


class MakeReport(Struct, frozen=True):
    """``keys`` None: this worker knows no signing keys, and reports rest on the chain alone, which they say.
    ``wait_seconds``: for the checkpoint of what was just recorded. ``fonts``: of a PDF, beside its own."""

    database: Database
    clock: Clock
    keys: SigningKeySource | None
    wait_seconds: float = _WAIT_SECONDS
    render_seconds: float = RENDER_SECONDS
    most_bytes: int = MOST_REPORT_BYTES
    fonts: tuple[Path, ...] = ()

    async def run(self, job: JobReference) -> None:
        """Raises what the queue should try again; what can not get better fails the report at once."""
        async with self.database.transaction(job.org_id) as connection:
            report = await claim_report(connection, job.org_id, job.subject_id, self.clock(), MOST_ATTEMPTS)
        if report is None:
            await self._fail(job, _TRIED)  # unless it has ended, or is no more
            return
        try:
            await self._make(report)
        except _TakenOverError:
            _log.info("report_left", report_id=report.report_id)
        except UnavailableError:
            raise
        except RenderError as error:
            if report.attempt < MOST_ATTEMPTS:
                raise
            await self._fail(job, error.message)
        except HeadgateError as error:
            await self._fail(job, error.message)

    async def abandon(self, job: JobReference, reason: str) -> None:
        """The queue gives it up."""
        await self._fail(job, reason.partition(": ")[2] or reason)

    async def _make(self, report: Report) -> None:
        basis = await self._basis(report)
        basis = await self._verified(report, basis)
        process = RenderProcess(most_bytes=self.most_bytes, render_seconds=self.render_seconds, fonts=self.fonts)
        with tempfile.TemporaryFile() as file:
            try:
                await process.start(basis, file)
                await self._feed(report, basis, process)
                await self._tell(report, Progress(Stage.RENDERING))
                await process.finish()
            finally:
                await process.close()
            await self._keep(report, basis, file)

    async def _basis(self, report: Report) -> Basis:
        """With the first checkpoint that covers the run; waits for it where it is about to be signed."""
        until = time.monotonic() + (self.wait_seconds if self.keys is not None else 0)
        while True:
            async with self.database.transaction(report.org_id) as connection:
                basis = await find_basis(connection, report.org_id, report.request)
            if basis.checkpoint is not None or time.monotonic() >= until:
                return basis
            await self._tell(report, Progress(Stage.WAITING))
            await asyncio.sleep(_POLL_SECONDS)

    async def _verified(self, report: Report, basis: Basis) -> Basis:
        """The run against the one checkpoint: others would make what the report says depend on when it is made."""
        if basis.first_seq is None or basis.last_seq is None:
            return basis
        points: Sequence[Checkpoint] = []
        if basis.checkpoint is not None:
            trusted = self._trusted(report.org_id)
            if not trusted:
                return replace(basis, checkpoint=None, no_checkpoint=_NO_KEY)
            points, fault = read_points([basis.checkpoint.note], trusted, report.org_id)
            if fault is not None:
                return replace(basis, fault=fault.message)
        watch = _Watch(self._tell, report, basis.total)
        tasks = TaskSet(lambda name, error: _log.warning("report_progress_not_told", error=repr(error)))
        tasks.start(watch.tell(), name="report progress")
        try:
            async with self.database.transaction(report.org_id) as connection:
                verified = await verify_numbers(
                    connection, report.org_id, points, basis.first_seq, basis.last_seq, watch.add
                )
        finally:
            await tasks.close()
        broken = verified.chain.fault
        return basis if broken is None else replace(basis, fault=f"Event {broken.seq}: {broken.message}")

    def _trusted(self, org_id: str) -> Sequence[VerifierKey]:
        if self.keys is None:
            return ()
        try:
            known = self.keys.load()
        except UnavailableError:
            return ()
        return known.verifier_keys(f"{known.log_name}/{org_id}")

    async def _feed(self, report: Report, basis: Basis, process: RenderProcess) -> None:
        if basis.first_seq is None or basis.last_seq is None:
            return
        told = time.monotonic()
        for first in range(basis.first_seq, basis.last_seq + 1, WINDOW_EVENTS):
            last = min(first + WINDOW_EVENTS - 1, basis.last_seq)
            async with self.database.transaction(report.org_id) as connection:
                rows = await fetch_window(connection, report.org_id, first, last)
            await process.feed([chain_row(row[1], row[2], row[-2], row[-1]) for row in rows])
            if time.monotonic() - told >= _TELL_SECONDS:
                await self._tell(report, Progress(Stage.READING, last - basis.first_seq + 1, basis.total))
                told = time.monotonic()

    async def _keep(self, report: Report, basis: Basis, file: BinaryIO) -> None:
        size, digest = await asyncio.to_thread(_measure, file)
        checkpoint = basis.checkpoint
        result = Result(
            basis.first_seq, basis.last_seq, None if checkpoint is None else checkpoint.size,
            None if checkpoint is None else b64decode(checkpoint.root), size, digest,
        )  # fmt: skip
        now = self.clock()
        data = about(report.report_id, report.request) | {
            "sha256": "sha256:" + digest.hex(), "size_bytes": size, "checkpoint_size": result.checkpoint_size,
            "reference": basis.reference,
        }  # fmt: skip
        try:
            async with self.database.transaction(report.org_id) as connection:
                await keep_file(connection, report, result, file, now)
                await append(connection, report.org_id, [Event(EventType.REPORT_MADE, now, SYSTEM, data)])
        except ConflictError as error:
            raise _TakenOverError from error

    async def _tell(self, report: Report, progress: Progress) -> None:
        async with self.database.transaction(report.org_id) as connection:
            if not await save_progress(connection, report, progress):
                raise _TakenOverError

    async def _fail(self, job: JobReference, reason: str) -> None:
        now = self.clock()
        async with self.database.transaction(job.org_id) as connection:
            try:
                report = await get_report(connection, job.org_id, job.subject_id)
            except NotFoundError:
                return
            if await fail_report(connection, job.org_id, job.subject_id, now, reason):
                data = about(report.report_id, report.request) | {"reason": reason}
                await append(connection, job.org_id, [Event(EventType.REPORT_FAILED, now, SYSTEM, data)])


class _Watch:
    """How many events have been verified, told once in a while."""

    def __init__(self, tell: Callable[[Report, Progress], Awaitable[None]], report: Report, total: int) -> None:
        self._tell = tell
        self._report = report
        self._total = total
        self._done = 0

    def add(self, events: int) -> None:
        self._done += events

    async def tell(self) -> None:
        while True:
            await asyncio.sleep(_TELL_SECONDS)
            await self._tell(self._report, Progress(Stage.VERIFYING, self._done, self._total))


def _measure(file: BinaryIO) -> tuple[int, bytes]:
    file.seek(0)
    digest, size = sha256(), 0
    while content := file.read(_COPY_BYTES):
        digest.update(content)
        size += len(content)
    file.seek(0)
    return size, digest.digest()
