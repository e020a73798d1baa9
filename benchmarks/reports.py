"""Reports of a large record, as the worker makes them: how long, and how much memory worker and child take.

``python -m benchmarks.reports [--events 100000]``, on a PostgreSQL of its own.
"""

import argparse
import asyncio
import os
import resource
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.load.record_database import RecordDatabase, record_database
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.signing_keys import SigningKeySource
from headgate.journal.apply import apply_due
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.queue.model import JobReference
from headgate.reports.make_report import MakeReport
from headgate.reports.model import DEFAULT_SECTIONS, Report, ReportFormat, ReportRequest, ReportStatus, ReportType
from headgate.reports.service import request_report
from headgate.reports.store import get_report
from tests.entry_codes import CODES


async def make(
    api: Database, maker: MakeReport, org_id: str, form: ReportFormat, end: datetime
) -> tuple[Report, float]:
    kind = ReportType.COMPLIANCE
    request = ReportRequest(kind, form, DEFAULT_SECTIONS[kind], None, end)
    async with begin_change(api, Change(org_id, SYSTEM, None, system_clock())) as change:
        asked = await request_report(change, request)
    started = time.perf_counter()
    await maker.run(JobReference(org_id, asked.report_id, 1))
    took = time.perf_counter() - started
    async with api.transaction(org_id) as connection:
        report = await get_report(connection, org_id, asked.report_id)
    assert report.status is ReportStatus.READY
    return report, took


async def measure(made: RecordDatabase, folder: Path, events: int) -> None:
    worker, api = (Database(Secret(made.dsn(f"headgate_{part}")), entry_codes=CODES) for part in ("worker", "api"))
    await worker.open()
    await api.open()
    keys = SigningKeySource(folder / "keys")
    keys.create("benchmark")
    checkpointer = Checkpointer(worker, keys, SignedMemory(folder / "signed"), timedelta(0), 1)
    sealed = 0
    while sealed < events:
        sealed += await apply_due(worker)
    assert await checkpointer.checkpoint(made.org_id)
    maker, end = MakeReport(worker, system_clock, keys, wait_seconds=0), datetime.now(UTC)
    print(f"{events:,} events; load average {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores")
    for form in (ReportFormat.JSON, ReportFormat.CSV, ReportFormat.HTML, ReportFormat.PDF):
        report, took = await make(api, maker, made.org_id, form, end)
        assert report.result is not None
        child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{form.value:<5}{took:>8.1f} s {events / took:>9,.0f} events/s {report.result.size_bytes / 1e6:>8.1f} MB;"
            f" at most {child} MB in a child, {own} MB in the worker"
        )
    await worker.close()
    await api.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, record_database(Path(name)) as made:
        made.append(arguments.events)
        asyncio.run(measure(made, Path(name), arguments.events))


if __name__ == "__main__":
    main()
