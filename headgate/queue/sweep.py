"""Jobs that nobody carries out any more are put back: those of dead workers, and those whose end a living one could
not write down. A job that has ended its workers as often as it may be tried is given up (a poison job).
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Final

import structlog
from procrastinate import App
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job as StoredJob
from procrastinate.jobs import Status

from headgate.queue.retry import CappedBackoff

_log = structlog.get_logger(__name__)

HEARTBEAT_SECONDS: Final = 2.0
SILENT_SECONDS: Final = 10.0
"""A worker that has not beaten for so long is dead: five beats missed, as for instances."""

type GiveUp = Callable[[StoredJob, str], Awaitable[None]]

KILLED: Final = "the worker ended, or was silent for too long, each time it ran this job"


class Sweep:
    """One look at a time. ``mine`` says which workers this process runs, ``running`` which jobs it knows of."""

    def __init__(
        self,
        app: App,
        strategies: Mapping[str, CappedBackoff],
        give_up: GiveUp,
        mine: Callable[[], Collection[int]],
        running: Collection[int],
    ) -> None:
        self._app = app
        self._strategies = strategies
        self._give_up = give_up
        self._mine = mine
        self._running = running
        self._unknown_before: frozenset[int] = frozenset()

    async def run(self) -> int:
        """Put back what is stalled; returns how many."""
        doing = list(await self._app.job_manager.list_jobs_async(status=Status.DOING.value))
        stalled = self._forgotten(doing)
        if doing:
            stalled += await self._app.job_manager.get_stalled_jobs(seconds_since_heartbeat=SILENT_SECONDS)
        for job in stalled:
            await self._put_back(job)
        return len(stalled)

    def _forgotten(self, doing: Iterable[StoredJob]) -> list[StoredJob]:
        """Our own workers' jobs that this process does not run, twice in a row: a job that has just been fetched, or
        whose end is being written down, is not known either, but not for the time between two looks."""
        found: dict[int, StoredJob] = {}
        mine = frozenset(self._mine())
        for job in doing:
            if job.id is not None and job.worker_id in mine and job.id not in self._running:
                found[job.id] = job
        again = self._unknown_before.intersection(found)
        self._unknown_before = frozenset(found) - again
        return [found[job_id] for job_id in again]

    async def _put_back(self, job: StoredJob) -> None:
        strategy = self._strategies.get(job.task_name)
        if strategy is None:  # of another version's worker, which knows how often it may be tried
            return
        try:
            if strategy.is_last(job):
                await self._give_up(job, KILLED)
                await self._app.job_manager.finish_job(job, status=Status.FAILED, delete_job=False)
                _log.error("job_given_up", job=job.task_name, job_id=job.id, attempts=job.attempts + 1)
            else:
                await self._app.job_manager.retry_job(job)
                _log.warning("stalled_job_put_back", job=job.task_name, job_id=job.id, attempts=job.attempts + 1)
        except ConnectorException as error:
            # Another worker's sweep was there first, or the database is away again: the next look tells.
            _log.info("stalled_job_left", job=job.task_name, job_id=job.id, error=repr(error.__cause__ or error))
