"""Jobs of this test alone: each has a queue of its own, as the database is shared."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from headgate.kernel.backoff import Backoff
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.queue.model import Job, Work
from headgate.queue.runner import JobRunner


@pytest.fixture
def job() -> Job:
    name = new_id(IdPrefix.ACTION)
    return Job(f"test.{name}", queue=name, backoff=Backoff(first_seconds=0.05, cap_seconds=0.2, most_attempts=3))


type Running = Callable[..., AbstractAsyncContextManager[None]]


@pytest.fixture
def running(cluster) -> Running:
    @asynccontextmanager
    async def run(works: Sequence[Work], *, places: Mapping[str, int] | None = None) -> AsyncIterator[None]:
        stop = asyncio.Event()
        runner = JobRunner(Secret(cluster.dsn("headgate_worker")), works, places=places)
        async with asyncio.TaskGroup() as group:
            group.create_task(runner.run(stop))
            try:
                yield
            finally:
                stop.set()

    return run


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    async def wait(check: Callable[[], bool], *, within_seconds: float = 20) -> None:
        async with asyncio.timeout(within_seconds):
            while not check():
                await asyncio.sleep(0.02)

    return wait
