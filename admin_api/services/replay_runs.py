"""Replays that people start on a page and that run in the background of an API process; the database has how far each
is, so that any process shows it."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from msgspec import Struct, field

from headgate.db.database import Database
from headgate.kernel.errors import ErrorCode, HeadgateError
from headgate.kernel.tasks import TaskSet
from headgate.policies.replay_run_store import ReplayRun, begin_run, finish_run, last_run, tell_run

_TELL_SECONDS: Final = 1.0
_TRY_AGAIN_SECONDS: Final = 0.5
_WAITS_MAX: Final = 120
"""For another replay of this process to end."""

type Lines = Callable[[], Awaitable[AsyncIterator[Any]]]
"""Begins the replay: the lines of ``POST /admin/policies/replay``. Raises HeadgateError."""


class _Progress(Struct):
    done: int = 0
    total: int = 0


class ReplayRuns(Struct, frozen=True):
    """Those of this process. A person has one at a time: another one ends it."""

    database: Database
    tasks: TaskSet
    _running: dict[tuple[str, str], asyncio.Task[object]] = field(default_factory=dict)

    async def start(self, org_id: str, user_id: str, lines: Lines, *, wait_seconds: float) -> ReplayRun:
        """How far it is once it has ended, or when the wait is over. Raises UnavailableError."""
        run = secrets.token_hex(16)
        if (before := self._running.get((org_id, user_id))) is not None:
            before.cancel()
            await asyncio.wait([before])
        async with self.database.transaction(org_id) as connection:
            await begin_run(connection, org_id, user_id, run)
        task = self.tasks.start(self._run(org_id, user_id, run, lines), name="policy_replay")
        self._running[org_id, user_id] = task
        await asyncio.wait([task], timeout=wait_seconds)
        found = await self.last(org_id, user_id)
        assert found is not None  # noqa: S101 - it was begun above, and nothing deletes it
        return found

    async def last(self, org_id: str, user_id: str) -> ReplayRun | None:
        async with self.database.transaction(org_id) as connection:
            return await last_run(connection, org_id, user_id)

    async def _run(self, org_id: str, user_id: str, run: str, lines: Lines) -> None:
        progress = _Progress()
        telling = self.tasks.start(self._keep_telling(org_id, user_id, run, progress), name="policy_replay_progress")
        report, failure = None, "The replay ended without a report."
        try:
            last = await _last_line(lines, progress)
            if last.get("type") == "report":
                report = json.dumps(last)
            else:
                failure = str(last.get("message", failure))
        except HeadgateError as error:
            failure = error.message
        finally:
            telling.cancel()
            self._running.pop((org_id, user_id), None)
        async with self.database.transaction(org_id) as connection:
            await finish_run(connection, org_id, user_id, run, report, None if report else failure)

    async def _keep_telling(self, org_id: str, user_id: str, run: str, progress: _Progress) -> None:
        while True:
            await asyncio.sleep(_TELL_SECONDS)
            async with self.database.transaction(org_id) as connection:
                await tell_run(connection, org_id, user_id, run, progress.done, progress.total)


async def _last_line(lines: Lines, progress: _Progress) -> dict[str, Any]:
    """One replay runs in a process at a time: the next waits its turn."""
    last: dict[str, Any] = {}
    for _ in range(_WAITS_MAX):
        async for line in await lines():
            last = json.loads(bytes(line) if isinstance(line, memoryview) else line)
            if last.get("type") == "progress":
                progress.done, progress.total = last["done"], last["total"]
        if last.get("code") != ErrorCode.CONFLICT.value:
            break
        await asyncio.sleep(_TRY_AGAIN_SECONDS)
    return last
