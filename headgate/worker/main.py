"""The worker's composition: its loops, its heartbeat, its orderly end. Any number of workers may run at once:
every job locks, or checks, what it works on.
"""

import asyncio
import signal
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Final

import structlog

from headgate.actions.instance import HEARTBEAT_SECONDS, Instance
from headgate.db.database import Database
from headgate.db.valkey import open_valkey
from headgate.gate.attest_entries import AttestEntries
from headgate.kernel.clock import Clock, system_clock
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.tasks import TaskSet
from headgate.monitor.port import MonitorPort
from headgate.queue.model import Work
from headgate.queue.runner import JobRunner
from headgate.reports.make_report import MakeReport
from headgate.reports.service import MAKE_REPORT
from headgate.vault.service import vault_of
from headgate.worker.connections import connection_loops
from headgate.worker.evidence import evidence_loops
from headgate.worker.executor import open_executor, run_jobs
from headgate.worker.leftovers import leftover_loops
from headgate.worker.loop import Loop, keep_running
from headgate.worker.record import record_loops
from headgate.worker.reminders import reminder_loops
from headgate.worker.settings import WorkerSettings
from headgate.worker.telling import PLACES, Telling
from headgate.worker.watch import Watch

_log = structlog.get_logger(__name__)

_STOP_SECONDS: Final = 10.0
_APART_SECONDS: Final = 0.1
"""Between the first rounds of two loops. Together they would take all connections, each of 4 MiB in the server."""
_REPORTS: Final = {MAKE_REPORT.queue: 1}
"""One at a time in a worker: each takes a processor of its own while it is made."""


async def run(settings: WorkerSettings) -> None:
    """Work until SIGTERM or SIGINT; a round that is under way is finished first."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        await run_until(settings, stop)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def run_until(settings: WorkerSettings, stop: asyncio.Event, *, clock: Clock = system_clock) -> None:
    """Work until ``stop`` is set."""
    vault = vault_of(settings)
    codes = EntryCodes(vault.master_keys)
    database = Database(settings.database_dsn, entry_codes=codes)
    attest_entries = AttestEntries(database, (), codes)
    valkey = open_valkey(settings.valkey_url)
    looking = Database(settings.database_dsn, max_connections=1, checked=False)
    await database.open()
    await looking.open()
    instance = Instance("worker", database)
    telling = Telling(database, settings, clock)
    tasks = TaskSet(lambda name, error: _log.critical("worker_loop_ended", loop=name, error=repr(error)))
    opened = AsyncExitStack()

    async def is_ready() -> bool:
        return instance.is_heard

    monitor = MonitorPort(settings.monitor, is_ready)

    async def beat() -> int:
        await instance.beat()
        return 0

    async def attest() -> int:
        await attest_entries.attest()
        return 0

    try:
        executor = await open_executor(settings, instance, clock, opened, valkey)
        keys = None if settings.evidence is None else settings.evidence.keys
        reports = MakeReport(database, clock, keys, fonts=settings.report_fonts)
        works = [executor, *telling.works(), Work(MAKE_REPORT, reports.run, reports.abandon)]
        jobs = JobRunner(
            settings.database_dsn, works, places={executor.job.queue: settings.places, **PLACES, **_REPORTS}
        )
        loops = [
            Loop("beat", beat, busy_seconds=HEARTBEAT_SECONDS, idle_seconds=HEARTBEAT_SECONDS),
            *record_loops(database),
            *reminder_loops(database, valkey, clock),
            *leftover_loops(database, vault, clock),
            *evidence_loops(settings, database, clock, opened),
            *connection_loops(settings, database, clock, opened),
            *telling.loops(),
            Loop("attest", attest, busy_seconds=1.0, idle_seconds=1.0),
        ]
        tasks.start(_watch(settings, looking, clock).keep_looking(loops, stop), name="watch")
        for place, one in enumerate(loops):
            tasks.start(keep_running(one, stop, begin_after_seconds=place * _APART_SECONDS), name=one.name)
        tasks.start(run_jobs(jobs, settings, database, stop), name="jobs")
        await monitor.open()
        _log.info("worker_started", instance_id=instance.instance_id)
        await stop.wait()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await tasks.wait()
        except TimeoutError:
            _log.warning("worker_loops_cancelled")
    finally:
        await monitor.close()
        await tasks.close()
        await opened.aclose()
        await telling.close()
        await instance.end()
        await attest_entries.close()
        if valkey is not None:
            await valkey.aclose()
        await looking.close()
        await database.close()
        _log.info("worker_stopped", instance_id=instance.instance_id)


def _watch(settings: WorkerSettings, database: Database, clock: Clock) -> Watch:
    evidence = settings.evidence
    if evidence is None:  # this worker signs nothing, and has no loop that would be woken for it
        return Watch(database, clock, timedelta(days=1), 1)
    return Watch(database, clock, evidence.every, evidence.events)
