"""Carries jobs out: one procrastinate worker a queue, so that a slow queue takes no places from another.

https://procrastinate.readthedocs.io/en/stable/howto/production/retry_stalled_jobs.html: finding the jobs of killed
workers is the application's duty; ours is ``headgate.queue.sweep``.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, LiteralString

import psycopg
import structlog
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job as StoredJob
from procrastinate.jobs import Notification
from procrastinate.worker import Worker
from psycopg.abc import PQGen
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from headgate.kernel.secrets import Secret
from headgate.kernel.tasks import TaskSet
from headgate.queue.model import JobReference, Work
from headgate.queue.retry import CappedBackoff
from headgate.queue.shares import SharedJobs
from headgate.queue.sweep import HEARTBEAT_SECONDS, SILENT_SECONDS, Sweep

_log = structlog.get_logger(__name__)

_SCHEDULED_SECONDS: Final = 0.5
"""How late what is scheduled may start; what is deferred for now is told by NOTIFY."""
_POLL_SECONDS: Final = 5.0
"""How often each worker looks by itself, where a notification was lost."""
_STOP_SECONDS: Final = 8.0
_FIRST_PAUSE_SECONDS: Final = 0.5
_LAST_PAUSE_SECONDS: Final = 5.0
_CONNECTIONS: Final = 4
_BETWEEN_STARTS_SECONDS: Final = 0.1
"""Between the first queries of two workers. Together they would take all connections, each of 4 MiB in the server."""
_CHANNEL: Final = "procrastinate_queue_v1#"
_TELL_OF_SCHEDULED: Final[LiteralString] = """
    SELECT pg_notify('procrastinate_queue_v1#' || due.queue_name, '{"type": "job_inserted", "job_id": 0}')
    FROM (SELECT DISTINCT j.queue_name FROM procrastinate_jobs j
          WHERE j.status = 'todo' AND j.scheduled_at <= now() AND j.queue_name = ANY (%(queues)s)) AS due
"""
"""As procrastinate's own trigger tells of what is added."""
_DEAD_JOBS_HOURS: Final = 30 * 24
_DAY_SECONDS: Final = 24 * 3600.0
_INTERRUPTS_SECONDS: Final = 5.0


class JobRunner:
    """``dsn`` logs in as headgate_worker, directly: LISTEN does not pass a transaction pooler. ``places``: how many
    jobs of each queue run at once in this process (default 4)."""

    def __init__(self, dsn: Secret, works: Sequence[Work], *, places: Mapping[str, int] | None = None) -> None:
        self._connector = PsycopgConnector(
            conninfo=dsn.reveal(),
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=5.0,
            configure=_in_the_queues_schema,
            pool_factory=_unchecked_pool,
        )
        self._app = App(connector=self._connector)
        self._works = {work.job.name: work for work in works}
        self._strategies = {work.job.name: CappedBackoff(work.job.backoff) for work in works}
        self._places = {work.job.queue: (places or {}).get(work.job.queue, 4) for work in works}
        self._jobs = SharedJobs(self._connector, self._places)
        self._app.job_manager = self._jobs
        self._running: set[int] = set()
        self._workers: list[Worker] = []
        self._sweep = Sweep(self._app, self._strategies, self._give_up, self._own_workers, self._running)
        for work in works:
            self._declare(work)

    def _declare(self, work: Work) -> None:
        strategy = self._strategies[work.job.name]

        async def perform(context: JobContext, *, org_id: str, subject_id: str) -> None:
            job = context.job
            if job.id is not None:
                self._running.add(job.id)
            try:
                await work.handler(JobReference(org_id, subject_id, job.attempts + 1))
            except Exception as error:
                if strategy.is_last(job):
                    await self._give_up(job, f"{type(error).__name__}: {error}")
                raise
            finally:
                if job.id is not None:
                    self._running.discard(job.id)

        self._app.task(name=work.job.name, queue=work.job.queue, retry=strategy, pass_context=True)(perform)

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set. Without its database it waits and begins anew; nothing that it runs is lost."""
        pause = _FIRST_PAUSE_SECONDS
        while not stop.is_set():
            try:
                await self._work(stop)
                pause = _FIRST_PAUSE_SECONDS
            except (ConnectorException, psycopg.Error, PoolTimeout) as error:
                _log.warning("job_runner_waits", error=repr(error))
            except Exception:  # noqa: BLE001 - whatever ends the workers, others take their place
                _log.exception("job_runner_failed")
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await stop.wait()
            pause = min(pause * 2, _LAST_PAUSE_SECONDS)

    async def _work(self, stop: asyncio.Event) -> None:
        tasks = TaskSet(lambda name, error: _log.error("job_worker_ended", worker=name, error=repr(error)))
        async with self._app.open_async():
            self._workers = [self._worker(queue, places) for queue, places in self._places.items()]
            workers = [
                tasks.start(
                    self._begin(worker, position * _BETWEEN_STARTS_SECONDS), name=f"jobs of {worker.worker_name}"
                )
                for position, worker in enumerate(self._workers)
            ]
            stopped = tasks.start(stop.wait(), name="stop of the job runner")
            sides = [
                tasks.start(self._keep_beating(), name="heartbeats"),
                tasks.start(self._tell_of_scheduled(), name="scheduled jobs"),
                tasks.start(
                    self._app.job_manager.listen_for_jobs(on_notification=self._pass_on, queues=list(self._places)),
                    name="notifications of jobs",
                ),
            ]
            try:
                await self._forget_dead_jobs()
                while not (stop.is_set() or any(one.done() for one in (*workers, *sides))):
                    await asyncio.wait(
                        {*workers, *sides, stopped}, timeout=HEARTBEAT_SECONDS, return_when="FIRST_COMPLETED"
                    )
                    if not stop.is_set():
                        await self._sweep.run()
            finally:
                begun, self._workers = self._workers, []
                for worker in begun:
                    worker.stop()
                await asyncio.wait(workers, timeout=_STOP_SECONDS + HEARTBEAT_SECONDS)
                await tasks.close()

    async def _begin(self, worker: Worker, after_seconds: float) -> None:
        """Starts a worker unless the runner has stopped: a worker that is stopped before it runs never ends."""
        await asyncio.sleep(after_seconds)
        if worker in self._workers:
            await worker.run()

    async def _pass_on(self, *, channel: str, notification: Notification) -> None:
        """To the worker of the queue. Each would listen over a connection of its own, and wake ten times a second."""
        for worker in self._workers:
            if channel == _CHANNEL + str(worker.worker_name):
                await worker._handle_notification(channel=channel, notification=notification)

    async def _keep_beating(self) -> None:
        """For all workers by one statement."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            await self._jobs.beat(self._own_workers())

    async def _tell_of_scheduled(self) -> None:
        """Wakes the workers of queues with scheduled jobs that are due: one question for all of them."""
        while True:
            await asyncio.sleep(_SCHEDULED_SECONDS)
            await self._connector.execute_query_all_async(query=_TELL_OF_SCHEDULED, queues=list(self._places))

    def _worker(self, queue: str, places: int) -> Worker:
        return Worker(
            app=self._app,
            queues=[queue],
            name=queue,
            concurrency=places,
            fetch_job_polling_interval=_POLL_SECONDS,
            listen_notify=False,
            shutdown_graceful_timeout=_STOP_SECONDS,
            delete_jobs="successful",
            install_signal_handlers=False,
            update_heartbeat_interval=_DAY_SECONDS,  # the runner beats for it
            stalled_worker_timeout=SILENT_SECONDS * 3,
        )

    def _own_workers(self) -> list[int]:
        return [worker.worker_id for worker in self._workers if worker.worker_id is not None]

    async def _give_up(self, job: StoredJob, reason: str) -> None:
        work = self._works.get(job.task_name)
        if work is None or work.abandoned is None:
            return
        org_id, subject_id = job.task_kwargs.get("org_id"), job.task_kwargs.get("subject_id")
        if isinstance(org_id, str) and isinstance(subject_id, str):
            await work.abandoned(JobReference(org_id, subject_id, job.attempts + 1), reason)

    async def _forget_dead_jobs(self) -> None:
        """Dead jobs are kept for a month; looked at whenever a worker starts."""
        await self._app.job_manager.delete_old_jobs(_DEAD_JOBS_HOURS, include_failed=True, include_aborted=True)


async def _in_the_queues_schema(connection: psycopg.AsyncConnection[object]) -> None:
    # Each of procrastinate's statements stands by itself: BEGIN and COMMIT around it would be half of the work.
    await connection.set_autocommit(True)
    await connection.execute("SET search_path = queue")


def _unchecked_pool(**options: Any) -> AsyncConnectionPool:  # whatever procrastinate passes on
    """Without asking before each statement whether the connection lives: a dead one is met by ``run``."""
    return AsyncConnectionPool(**{**options, "check": None, "connection_class": _QuietConnection})


class _QuietConnection(psycopg.AsyncConnection[Any]):
    """Waits without waking ten times a second, as psycopg does for interrupts: who listens always waits."""

    async def wait[RV](self, gen: PQGen[RV], interval: float = _INTERRUPTS_SECONDS, timeout: float | None = None) -> RV:
        return await super().wait(gen, interval, timeout)
