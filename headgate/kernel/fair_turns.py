"""Places that organizations, and the agents of each, take in turn: the one that was served least comes first.

Start-time fair queueing (P. Goyal, H. Vin, H. Cheng, SIGCOMM 1996) over two levels. A turn costs the time that its
place was taken, so that one slow call weighs as much as many fast ones, and an idle party gains no credit.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from time import perf_counter
from typing import Any, Final

from msgspec import Struct, field

from headgate.kernel.errors import UnavailableError

WAITING_OF_AGENT_MAX: Final = 64
WAITING_OF_ORGANIZATION_MAX: Final = 256
WAIT_SECONDS_MAX: Final = 10.0
_FORGET_ABOVE: Final = 1024


class _Shares(Struct):
    """How much each of several keys was served. ``now`` is the virtual time: the start of the last turn."""

    now: float = 0.0
    ends: dict[str, float] = field(default_factory=dict)

    def start_of(self, key: str) -> float:
        return max(self.now, self.ends.get(key, 0.0))

    def charge(self, key: str, seconds: float) -> None:
        self.now = self.start_of(key)
        self.ends[key] = self.now + seconds
        if len(self.ends) > _FORGET_ABOVE:
            self.ends = {known: end for known, end in self.ends.items() if end > self.now}


class _Organization(Struct):
    """Waiting calls of one organization, by agent. An agent without waiting calls has no entry."""

    agents: dict[str, deque[asyncio.Future[None]]] = field(default_factory=dict)
    waiting: int = 0


class Turn:
    """One caller's place, and the thread that works in it, if any."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self.thread: asyncio.Future[Any] | None = None

    async def in_thread[**Given, Made](
        self, work: Callable[Given, Made], *given: Given.args, **named: Given.kwargs
    ) -> Made:
        """What ``work`` makes of its arguments; once in a turn. A thread cannot be cancelled: where the caller gives
        up, the turn lasts until the thread ends. Otherwise whoever sends calls and leaves has all threads at work."""
        begin = partial(copy_context().run, work, *given, **named)
        thread = asyncio.get_running_loop().run_in_executor(self._threads, begin)
        self.thread = thread
        thread.add_done_callback(_look_at)
        return await asyncio.shield(thread)


def _look_at(thread: asyncio.Future[Any]) -> None:
    """An error that nobody waits for any more would be logged, and may hold what an agent sent."""
    if not thread.cancelled():
        thread.exception()


class FairTurns:
    """``places`` at once. ``what`` is said to a call that gets none: what is being waited for. ``rests``: a place stays
    empty after a turn for as long as the turn took, so that the event loop has the interpreter for as long.

    Each place has a thread of its own. The executor of an event loop starts another thread whenever work comes before
    the last has gone idle, until it has as many as it may, and each keeps megabytes of what the engine allocated."""

    def __init__(
        self,
        places: int,
        what: str,
        *,
        rests: bool = False,
        wait_seconds: float = WAIT_SECONDS_MAX,
        waiting_of_agent_max: int = WAITING_OF_AGENT_MAX,
        waiting_of_organization_max: int = WAITING_OF_ORGANIZATION_MAX,
    ) -> None:
        self._rests = rests
        self._threads = ThreadPoolExecutor(places, thread_name_prefix=what)
        self._free = places
        self._what = what
        self._wait_seconds = wait_seconds
        self._waiting_of_agent_max = waiting_of_agent_max
        self._waiting_of_organization_max = waiting_of_organization_max
        self._between_organizations = _Shares()
        self._within: dict[str, _Shares] = {}
        self._waiting: dict[str, _Organization] = {}

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def waiting(self) -> int:
        return sum(one.waiting for one in self._waiting.values())

    @asynccontextmanager
    async def turn(self, org_id: str, agent_id: str) -> AsyncIterator[Turn]:
        """A place, for as long as the block or its thread runs. Raises UnavailableError where too many wait, or for
        too long."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(org_id, agent_id)
        turn, began = Turn(self._threads), perf_counter()
        try:
            yield turn
        finally:
            if turn.thread is None or turn.thread.done():
                self._give_back(org_id, agent_id, began)
            else:
                turn.thread.add_done_callback(lambda _: self._give_back(org_id, agent_id, began))

    def _give_back(self, org_id: str, agent_id: str, began: float) -> None:
        took = perf_counter() - began
        self._charge(org_id, agent_id, took)
        if self._rests:
            asyncio.get_running_loop().call_later(took, self._hand_over)
        else:
            self._hand_over()

    async def _wait(self, org_id: str, agent_id: str) -> None:
        organization = self._waiting.get(org_id) or _Organization()
        queue = organization.agents.get(agent_id) or deque()
        if len(queue) >= self._waiting_of_agent_max or organization.waiting >= self._waiting_of_organization_max:
            raise UnavailableError(f"too many calls wait for {self._what}: send it again", retry_after_seconds=1)
        granted = asyncio.get_running_loop().create_future()
        queue.append(granted)
        self._waiting[org_id], organization.agents[agent_id] = organization, queue
        organization.waiting += 1
        try:
            async with asyncio.timeout(self._wait_seconds):
                await granted
        except BaseException as error:
            if granted.done() and not granted.cancelled():
                self._hand_over()  # the place came in the moment in which it was given up
            else:
                self._leave(org_id, agent_id, granted)
            if isinstance(error, TimeoutError):
                raise UnavailableError(
                    f"waited {self._wait_seconds:g} s for {self._what}: send it again", retry_after_seconds=1
                ) from error
            raise

    def _leave(self, org_id: str, agent_id: str, granted: asyncio.Future[None]) -> None:
        organization = self._waiting.get(org_id)
        queue = None if organization is None else organization.agents.get(agent_id)
        if organization is None or queue is None or granted not in queue:
            return  # passed over already
        queue.remove(granted)
        organization.waiting -= 1
        if not queue:
            del organization.agents[agent_id]
        if not organization.agents:
            del self._waiting[org_id]

    def _charge(self, org_id: str, agent_id: str, seconds: float) -> None:
        self._between_organizations.charge(org_id, seconds)
        self._within.setdefault(org_id, _Shares()).charge(agent_id, seconds)
        if len(self._within) > _FORGET_ABOVE:
            self._within = {known: one for known, one in self._within.items() if known in self._waiting}

    def _hand_over(self) -> None:
        """Hands the place to the least served party without releasing it in between."""
        while self._waiting:
            org_id = min(self._waiting, key=self._between_organizations.start_of)
            agents = self._waiting[org_id].agents
            shares = self._within.get(org_id)
            agent_id = next(iter(agents)) if shares is None else min(agents, key=shares.start_of)
            granted = agents[agent_id][0]
            self._leave(org_id, agent_id, granted)
            # One that was given up in this turn of the loop is cancelled, and its task does not know yet.
            if not granted.done():
                granted.set_result(None)
                return
        self._free += 1
