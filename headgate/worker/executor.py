"""What carries executions out in this process: the policies of now, the vault, and a client that leaves the machine."""

import asyncio
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Final

import structlog
from redis.asyncio import Redis

from headgate.actions.instance import Instance
from headgate.classifiers.classifiers import Classifiers
from headgate.connections.count_connection_uses import ConnectionUses
from headgate.db.database import Database
from headgate.executions.model import EXECUTE
from headgate.executor.execute import ExecuteAction
from headgate.gate.fair_decisions import FairDecisions
from headgate.gate.organization_state import OrganizationStates
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.transport import open_client
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet
from headgate.nlp_policies.evaluate import Evaluator
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.trust import trusted_roots
from headgate.policies.evaluate import PolicySet
from headgate.policies.marker import EXECUTIONS_SLOW_THREAD, EXECUTIONS_THREAD, Marker
from headgate.policies.quarantine import quarantine_suspects
from headgate.queue.model import Work
from headgate.queue.runner import JobRunner
from headgate.tools.load import load_catalogues
from headgate.vault.service import Vault
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
    settings.data.evaluating.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    marker = Marker(settings.data.evaluating, EXECUTIONS_THREAD)
    slow_marker = Marker(settings.data.evaluating, EXECUTIONS_SLOW_THREAD)
    stack.callback(marker.close)
    stack.callback(slow_marker.close)
    decisions = FairDecisions(slow_marker)
    stack.callback(decisions.close)
    vault = Vault(settings.master_keys_file or settings.data.master_keys)
    resolver = SystemResolver()
    stack.callback(resolver.close)
    roots = trusted_roots(settings.upstream_ca_file)
    judges = Judges(await stack.enter_async_context(open_client(roots)))
    stack.push_async_callback(judges.close)
    classifiers = Classifiers(settings.classifiers_dir)
    stack.push_async_callback(classifiers.close)
    uses = ConnectionUses(database, clock)
    stack.push_async_callback(uses.close)
    counting = TaskSet(lambda name, error: _log.critical("executor_task_ended", task=name, error=repr(error)))
    stack.push_async_callback(counting.close)
    counting.start(uses.keep_writing(), name="connection uses")
    execute = ExecuteAction(
        database=database,
        states=OrganizationStates(database, compile_policies=partial(PolicySet, marker=marker), vault=vault),
        catalogue=load_catalogues(settings.data.catalogues),
        vault=vault,
        uses=uses,
        client=OutgoingClient(roots, resolver),
        evaluator=Evaluator(judges, DailyBudgets(clock, valkey), classifiers=classifiers),
        instance=instance,
        clock=clock,
        decisions=decisions,
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
