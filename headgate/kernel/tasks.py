"""Background tasks that are kept and watched: the only place that calls ``asyncio.create_task``.

The event loop holds tasks weakly, so one that nobody keeps can vanish; and an exception in one that
nobody awaits is seen by nobody (CPython's documentation of ``asyncio.create_task``).
"""

import asyncio
from collections.abc import Callable, Coroutine


class TaskSet:
    """Tasks that live with their owner; ``on_failure`` is told of each that ends with an exception."""

    def __init__(self, on_failure: Callable[[str, BaseException], None]) -> None:
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[object]] = set()

    def start(self, coroutine: Coroutine[object, object, object], *, name: str) -> asyncio.Task[object]:
        task: asyncio.Task[object] = asyncio.create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(task.get_name(), error)

    async def wait(self) -> None:
        """Wait until every task has ended, those that they start meanwhile included."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def close(self) -> None:
        """Cancel what still runs and wait for its end."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
