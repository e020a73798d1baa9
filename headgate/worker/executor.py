"""Carries executions out in this process: the current policies, the vault, and a client that leaves the machine."""

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import Final

import structlog
from redis.asyncio import Redis

from headgate.actions.instance import Instance
from headgate.connections.count_connection_uses import ConnectionUses
from headgate.db.database import Database
from headgate.executions.model import EXECUTE
from headgate.executor.execute import ExecuteAction
from headgate.gate.process import MarkedThreads, open_deciding
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.resolver import SystemResolver
from headgate.policies.marker import EXECUTIONS_SLOW_THREAD, EXECUTIONS_THREAD
from headgate.policies.quarantine import quarantine_suspects
from headgate.queue.model import Work
from headgate.queue.runner import JobRunner
from headgate.worker.settings import WorkerSettings

_log = structlog.get_logger(__name__)

_PAUSE_SECONDS: Final = 1.0


async def open_executor(
    settings: WorkerSettings, instance: Instance, clock: Clock, stack: AsyncExitStack, valkey: Redis | None
) -> Work:
    """``stack`` closes what it opens. Raises ValidationError: a catalogue or a certificate file that cannot be read."""
    database = Database(settings.database_dsn, checked=False)
    await database.open()
    stack.push_async_callback(database.close)
    threads = MarkedThreads(EXECUTIONS_THREAD, EXECUTIONS_SLOW_THREAD)
    deciding = await stack.enter_async_context(open_deciding(settings, database, valkey, clock, threads))
    resolver = SystemResolver()
    stack.callback(resolver.close)
    uses = ConnectionUses(database, clock)
    stack.push_async_callback(uses.close)
    counting = TaskSet(lambda name, error: _log.critical("executor_task_ended", task=name, error=repr(error)))
    stack.push_async_callback(counting.close)
    counting.start(uses.keep_writing(), name="connection uses")
    execute = ExecuteAction(
        database=database,
        deciding=deciding,
        uses=uses,
        client=OutgoingClient(deciding.roots, resolver, settings.upstream_proxy),
        instance=instance,
        clock=clock,
        concurrency_max=settings.execution_concurrency_max,
    )
    return Work(EXECUTE, execute.run, execute.abandoned)


async def run_jobs(jobs: JobRunner, settings: WorkerSettings, database: Database, stop: asyncio.Event) -> None:
    """Nothing is decided here before the policy that killed the worker before this one is quarantined."""
    while not stop.is_set():
        try:
            await quarantine_suspects(database, settings.data.evaluating)
            break
        except UnavailableError:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE_SECONDS):
                    await stop.wait()
    await jobs.run(stop)
