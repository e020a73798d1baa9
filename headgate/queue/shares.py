"""Which job a worker takes next: one whose organization has not yet its share of the worker's places.

procrastinate takes jobs in their order, whoever they are for. One organization with slow destinations took all 32
places of the executor, and another's allowed call waited for 46 s.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final, LiteralString

from procrastinate import BaseConnector
from procrastinate.jobs import Job
from procrastinate.manager import JobManager

_TAKE: Final[LiteralString] = """
    SELECT (taken.job).*, taken.held_back
    FROM public.take_job_in_share(%(queue)s, %(worker_id)s, %(places)s, %(served)s::text[]) AS taken
"""
_BEAT: Final[LiteralString] = """
    SELECT procrastinate_update_heartbeat_v1(worker_id) FROM unnest(%(worker_ids)s::bigint[]) AS worker_id
"""
_LOOK_SECONDS: Final = 0.05
_LOOKS_MAX: Final = 10
_REMEMBERED_MAX: Final = 1000


class SharedJobs(JobManager):
    """``places``: of each queue. Each of its workers takes jobs of one queue."""

    def __init__(self, connector: BaseConnector, places: Mapping[str, int]) -> None:
        super().__init__(connector)
        self._places = places
        self._served: dict[str, dict[str, None]] = {}

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """None: there is none, or those that there are belong to organizations that have their share. procrastinate
        looks again when a job is added and every half second, not when one ends: what is held back is looked for here.
        """
        [queue] = queues or ()
        for _ in range(_LOOKS_MAX):
            row = await self.connector.execute_query_one_async(
                query=_TAKE,
                queue=queue,
                worker_id=worker_id,
                places=self._places[queue],
                served=list(self._served.get(queue, ())) if self._places[queue] == 1 else [],
            )
            if row["id"] is not None:
                job = Job.from_row(row)
                self._remember(queue, str(job.task_kwargs.get("org_id")))
                return job
            if not row["held_back"]:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        return None

    async def beat(self, worker_ids: Iterable[int]) -> None:
        """A heartbeat of these workers."""
        await self.connector.execute_query_async(query=_BEAT, worker_ids=list(worker_ids))

    def _remember(self, queue: str, org_id: str) -> None:
        """Of a queue of one place, whose turn it was: the others come first, whoever has more reports waiting."""
        served = self._served.setdefault(queue, {})
        served.pop(org_id, None)
        served[org_id] = None
        if len(served) > _REMEMBERED_MAX:
            del served[next(iter(served))]
