"""Keeps an instance's parts running: what dies is started again, with patience; what stops, stops in order.

Decisions (how long to wait) are in ``backoff``; processes in ``server_process``. This is the loop between them.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Final

import structlog
from msgspec import Struct, field

from headgate.kernel.errors import HeadgateError, UnavailableError
from headgate.kernel.tasks import TaskSet
from headgate.runtime.backoff import Restarts
from headgate.runtime.server_process import Program, RunningProgram, start

_log = structlog.get_logger(__name__)

_POLL_SECONDS: Final = 0.02

type Ready = Callable[[RunningProgram], Awaitable[None]]
"""Returns when the program serves; raises UnavailableError where it ended instead, or takes too long."""


async def _nothing() -> None:
    """There is nothing to prepare."""


async def ready_at_once(running: RunningProgram) -> None:
    """For programs that nobody connects to."""


class Part(Struct, frozen=True):
    """A program that is kept running, how to know that it serves, what to do before each start and after a death.

    ``died`` is told the process and its exit status (negative: the signal that ended it). ``start`` raises
    UnavailableError.
    """

    program: Program
    ready: Ready = ready_at_once
    before: Callable[[], Awaitable[None]] = field(default=_nothing)
    died: Callable[[int, int], None] = lambda pid, status: None
    start: Callable[[Program], Awaitable[RunningProgram]] = start


class Supervisor:
    """``changed`` is called with the processes of now, by name, whenever a part was started again."""

    def __init__(
        self,
        *,
        changed: Callable[[Mapping[str, Sequence[int]]], None] = lambda pids: None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._changed = changed
        self._jitter = jitter
        self._running: dict[int, tuple[Part, RunningProgram]] = {}
        self._next_slot = 0
        self._is_stopping = False
        self._watches = TaskSet(self._watch_failed)

    async def start(self, part: Part) -> None:
        """Start a part and keep it running from now on; returns when it serves.

        Raises UnavailableError where it ends, or is not ready in time: what cannot start is not tried for ever.
        """
        slot = self._next_slot
        self._next_slot += 1
        await part.before()
        running = await part.start(part.program)
        self._running[slot] = (part, running)
        try:
            await part.ready(running)
        except BaseException:
            running.kill()
            await running.wait()
            del self._running[slot]
            raise
        _log.info("part_started", part=part.program.name, pid=running.pid)
        self._watches.start(self._keep(slot), name=f"watch {part.program.name}")

    @property
    def pids(self) -> dict[str, list[int]]:
        """The processes of now, by the parts' names."""
        found: dict[str, list[int]] = {}
        for part, running in self._running.values():
            if running.is_running:
                found.setdefault(part.program.name, []).append(running.pid)
        return found

    async def _keep(self, slot: int) -> None:
        restarts = Restarts()
        while True:
            part, running = self._running[slot]
            status = await running.wait()
            if self._is_stopping:
                return
            try:
                part.died(running.pid, status)
            except OSError as error:
                _log.error("part_death_not_noted", part=part.program.name, error=str(error))
            restarts = restarts.after_death(time.monotonic() - running.started_at)
            delay = restarts.delay_seconds(self._jitter())
            _log.error(
                "part_died",
                part=part.program.name,
                pid=running.pid,
                exit_status=status,
                restart_in_seconds=round(delay, 2),
                log_end=running.last_words(),
            )
            await asyncio.sleep(delay)
            await self._start_again(slot, part)

    async def _start_again(self, slot: int, part: Part) -> None:
        """A start that fails is a death like any other: the loop waits longer and tries again. So is a disk that is
        full, which nobody need restart the instance for when there is room again."""
        try:
            await part.before()
            running = await part.start(part.program)
        except (HeadgateError, OSError) as error:
            _log.error("part_not_started", part=part.program.name, error=str(error))
            return
        self._running[slot] = (part, running)
        try:
            # Written before it serves too: whoever kills parts by the runtime file must find the process of now.
            self._changed(self.pids)
            await part.ready(running)
        except (UnavailableError, OSError) as error:
            _log.error("part_not_ready", part=part.program.name, error=str(error))
            running.kill()
            return
        _log.info("part_restarted", part=part.program.name, pid=running.pid)

    async def stop(self, order: Sequence[Sequence[str]]) -> None:
        """Stop everything: each group of names together, one group after the other, the rest at the end."""
        self._is_stopping = True
        await self._watches.close()
        named = {name for group in order for name in group}
        rest = tuple({part.program.name for part, _ in self._running.values()} - named)
        for group in (*order, rest):
            stopping = [running for part, running in self._running.values() if part.program.name in group]
            await asyncio.gather(*(running.stop() for running in stopping if running.is_running))
        if self._running:
            _log.info("instance_stopped")

    def kill(self) -> None:
        """End everything now."""
        self._is_stopping = True
        for _, running in self._running.values():
            if running.is_running:
                running.kill()

    def _watch_failed(self, name: str, error: BaseException) -> None:
        _log.critical("watch_ended", watch=name, error=repr(error))


async def wait_until(
    condition: Callable[[RunningProgram], Awaitable[bool]], running: RunningProgram, *, seconds: float
) -> None:
    """Ask until it is so. Raises UnavailableError where the program ends, or is not ready in time."""
    name = running.program.name
    deadline = time.monotonic() + seconds
    while not await condition(running):
        if not running.is_running:
            words = running.last_words()
            raise UnavailableError(
                f"the {name} ended while it started" + (f"; the end of its log:\n{words}" if words else "")
            )
        if time.monotonic() > deadline:
            raise UnavailableError(f"the {name} was not ready within {seconds:.0f} s")
        await asyncio.sleep(_POLL_SECONDS)


async def together(*starts: Coroutine[object, object, None]) -> None:
    """Start several at the same time; the first that fails ends the others, and its error is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in starts:
                group.create_task(one)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors
