"""What one organization leaves of a worker's places, on the real queue: slow jobs, many jobs, urgent jobs."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest

from headgate.db.database import Database
from headgate.queue.model import Job, JobReference, Work
from headgate.queue.store import defer


@dataclass
class SlowWork:
    """Jobs that end when they are told to."""

    job: Job
    begun: list[JobReference] = field(default_factory=list)
    running: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    def work(self) -> Work:
        return Work(self.job, self._run)

    def end(self, jobs: int) -> None:
        for _ in range(jobs):
            self._places.release()

    async def _run(self, reference: JobReference) -> None:
        self.begun.append(reference)
        self.running[reference.org_id] += 1
        self.most[reference.org_id] = max(self.most[reference.org_id], self.running[reference.org_id])
        await self._places.acquire()
        self.running[reference.org_id] -= 1


@pytest.fixture
def slow(job: Job) -> SlowWork:
    return SlowWork(job)


async def add(database: Database, job: Job, org_id: str, jobs: int, *, priority: int = 0) -> None:
    async with database.transaction(org_id) as connection:
        for number in range(jobs):
            await defer(connection, job, org_id, f"{org_id} {number}", priority=priority)


async def test_one_organization_leaves_a_quarter_of_the_places(
    api_database: Database, new_organization, slow: SlowWork, running, eventually
) -> None:
    greedy, other, third = [new_organization().org_id for _ in range(3)]
    await add(api_database, slow.job, greedy, 40, priority=100)
    async with running([slow.work()], places={slow.job.queue: 8}):
        await eventually(lambda: slow.running[greedy] == 6)
        await add(api_database, slow.job, other, 10)
        await eventually(lambda: slow.running[other] == 1, within_seconds=2)
        await add(api_database, slow.job, third, 1)
        await eventually(lambda: slow.running[third] == 1, within_seconds=2)
        slow.end(51)
        await eventually(lambda: len(slow.begun) == 51 and not +slow.running)
    assert slow.most[greedy] == 6
    own = [one.subject_id for one in slow.begun if one.org_id == greedy]
    assert own == [f"{greedy} {number}" for number in range(40)], "in the order in which they were added"


async def test_what_was_held_back_follows_at_once(
    api_database: Database, new_organization, slow: SlowWork, running, eventually
) -> None:
    greedy = new_organization().org_id
    await add(api_database, slow.job, greedy, 60)
    async with running([slow.work()], places={slow.job.queue: 4}):
        slow.end(60)
        await eventually(lambda: len(slow.begun) == 60, within_seconds=6)
    assert slow.most[greedy] <= 3


async def test_organizations_take_turns_at_a_single_place(
    api_database: Database, new_organization, slow: SlowWork, running, eventually
) -> None:
    greedy, second, newcomer = [new_organization().org_id for _ in range(3)]
    await add(api_database, slow.job, greedy, 5)
    await add(api_database, slow.job, second, 5)
    async with running([slow.work()], places={slow.job.queue: 1}):
        for ended in range(4):
            await eventually(lambda ended=ended: len(slow.begun) == ended + 1)
            if ended < 3:
                slow.end(1)
        await add(api_database, slow.job, newcomer, 1)
        slow.end(20)
        await eventually(lambda: len(slow.begun) == 11)
    assert [one.org_id for one in slow.begun[:6]] == [greedy, second, greedy, second, newcomer, greedy]
