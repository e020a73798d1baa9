"""The worker's composition: its loops, its heartbeat, its orderly end. Any number of workers may run at once:
every job locks, or checks, what it works on.
"""

import asyncio
import signal
import time
from typing import Final

import structlog
from redis.asyncio import Redis

from headgate.audit import sealer
from headgate.audit.store import ensure_partitions
from headgate.db.database import Database
from headgate.kernel.clock import Clock, system_clock
from headgate.kernel.tasks import TaskSet
from headgate.worker.loop import Loop, keep_running
from headgate.worker.orphans import OrphanWatch
from headgate.worker.settings import WorkerSettings
from headgate.workflows.expire_approvals import expire_due
from headgate.workflows.fold_outcomes import fold_due
from headgate.workflows.instance import HEARTBEAT_SECONDS, Instance

_log = structlog.get_logger(__name__)

_STOP_SECONDS: Final = 10.0
_DAY_SECONDS: Final = 24 * 3600.0
_VALKEY_TIMEOUT_SECONDS: Final = 1.0


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
    database = Database(settings.database_dsn)
    valkey = None if settings.valkey_url is None else _valkey(settings.valkey_url.reveal())
    await database.open()
    instance = Instance("worker", database)
    tasks = TaskSet(lambda name, error: _log.critical("worker_loop_ended", loop=name, error=repr(error)))
    try:
        for one in _loops(database, valkey, instance, clock):
            tasks.start(keep_running(one, stop), name=one.name)
        _log.info("worker_started", instance_id=instance.instance_id)
        await stop.wait()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await tasks.wait()
        except TimeoutError:
            _log.warning("worker_loops_cancelled")
    finally:
        await tasks.close()
        await instance.end()
        if valkey is not None:
            await valkey.aclose()
        await database.close()
        _log.info("worker_stopped", instance_id=instance.instance_id)


def _loops(database: Database, valkey: Redis | None, instance: Instance, clock: Clock) -> list[Loop]:
    orphans = OrphanWatch(database, clock, time.monotonic)

    async def seal() -> int:
        return await sealer.seal_due(database)

    async def fold() -> int:
        return await fold_due(database)

    async def expire() -> int:
        return await expire_due(database, valkey, clock)

    async def beat() -> int:
        await instance.beat()
        return 0

    async def partitions() -> int:
        async with database.across_organizations() as connection:
            await ensure_partitions(connection)
        return 0

    return [
        Loop("seal", seal, busy_seconds=0.02, idle_seconds=1.0),
        Loop("fold", fold, busy_seconds=0.1, idle_seconds=1.0),
        Loop("expire", expire, busy_seconds=0.05, idle_seconds=1.0),
        Loop("orphans", orphans.run, busy_seconds=1.0, idle_seconds=2.0),
        Loop("beat", beat, busy_seconds=HEARTBEAT_SECONDS, idle_seconds=HEARTBEAT_SECONDS),
        # A month's partition is made a month ahead, so that a day without success costs nothing.
        Loop("partitions", partitions, busy_seconds=60.0, idle_seconds=_DAY_SECONDS, error_seconds=600.0),
    ]


def _valkey(url: str) -> Redis:
    return Redis.from_url(url, socket_timeout=_VALKEY_TIMEOUT_SECONDS, socket_connect_timeout=_VALKEY_TIMEOUT_SECONDS)
