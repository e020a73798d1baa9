"""Tasks are kept, watched and ended with their owner."""

import asyncio
import gc

from headgate.kernel.tasks import TaskSet


class _Failures:
    def __init__(self) -> None:
        self.seen: list[tuple[str, BaseException]] = []

    def __call__(self, name: str, error: BaseException) -> None:
        self.seen.append((name, error))


async def _explode() -> None:
    raise ValueError("boom")


async def test_a_failure_is_told_with_the_tasks_name() -> None:
    failures = _Failures()
    tasks = TaskSet(failures)
    tasks.start(_explode(), name="sealer")
    await asyncio.sleep(0.01)
    assert [(name, str(error)) for name, error in failures.seen] == [("sealer", "boom")]


async def test_a_task_that_nobody_keeps_runs_to_its_end() -> None:
    done = asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0.01)
        done.set()

    tasks = TaskSet(_Failures())
    tasks.start(work(), name="work")
    gc.collect()
    await asyncio.wait_for(done.wait(), 30)


async def test_closing_cancels_what_runs_and_waits_for_its_end() -> None:
    failures = _Failures()
    tasks = TaskSet(failures)
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            cleaned.append("up")

    task = tasks.start(work(), name="work")
    await asyncio.sleep(0)
    await tasks.close()
    assert task.cancelled()
    assert cleaned == ["up"]
    assert failures.seen == []
