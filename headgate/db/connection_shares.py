"""Who may have how many of a process' connections to the database, and who is next.

One organization with slow searches took all of them, and another's stop waited until it was refused. Some connections
are for stops and decisions on approvals only. Of each kind an organization has at most three quarters of what the
others leave, and one in any case; while there is one organization, it may have all. Look-ups of credentials belong to
no organization yet, and count as one.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Final

from headgate.kernel.errors import UnavailableError

ORGANIZATION_PART: Final = 3 / 4
WAIT_SECONDS_MAX: Final = 5.0
NO_ORGANIZATION: Final = ""
_RETRY_AFTER_SECONDS: Final = 1

_URGENT: Final = ContextVar("urgent", default=False)


@contextmanager
def urgent() -> Iterator[None]:
    """For stops and decisions on approvals: inside of the block the connections that are kept for them may be used."""
    token = _URGENT.set(True)
    try:
        yield
    finally:
        _URGENT.reset(token)


def may_take(places: int, mine: int, others: int, *, is_shared: bool) -> bool:
    """Whether a party that has ``mine`` of the places may have one more, while all others have ``others``."""
    left = places - others
    return mine < left and (not is_shared or mine < max(1, int(left * ORGANIZATION_PART)))


class _Places:
    """Connections of one kind, by the party that has them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()
        self._all_taken = 0

    def has_room(self, party: str, *, is_shared: bool) -> bool:
        mine = self._taken[party]
        return may_take(self._most, mine, self._all_taken - mine, is_shared=is_shared)

    def take(self, party: str) -> None:
        self._taken[party] += 1
        self._all_taken += 1

    def give_back(self, party: str) -> None:
        self._all_taken -= 1
        self._taken[party] -= 1
        if not self._taken[party]:
            del self._taken[party]


type _Waiting = dict[str, deque[asyncio.Future[_Places]]]
"""By party, in the order of their turns. A party without waiting callers has no entry."""


class ConnectionShares:
    """``places`` of a process, ``reserved`` of them for what is urgent. One event loop uses it."""

    def __init__(self, places: int, *, reserved: int, wait_seconds: float = WAIT_SECONDS_MAX) -> None:
        self.places: Final = places
        self._ordinary = _Places(places - reserved)
        self._reserved = _Places(reserved)
        self._wait_seconds = wait_seconds
        self._only: str | None = None
        self._is_shared = False
        self._waiting_urgent: _Waiting = {}
        self._waiting: _Waiting = {}

    @property
    def waiting(self) -> int:
        return sum(len(queue) for one in (self._waiting_urgent, self._waiting) for queue in one.values())

    @asynccontextmanager
    async def place(self, party: str) -> AsyncIterator[None]:
        """A connection, for as long as the block runs. Raises UnavailableError."""
        self._notice(party)
        is_urgent = _URGENT.get()
        places = self._room(party, is_urgent=is_urgent)
        if places is None:
            places = await self._wait(party, self._waiting_urgent if is_urgent else self._waiting)
        else:
            places.take(party)
        try:
            yield
        finally:
            self._give_back(places, party)

    def _notice(self, party: str) -> None:
        if self._is_shared or party in (NO_ORGANIZATION, self._only):
            return
        self._is_shared = self._only is not None
        self._only = party

    def _room(self, party: str, *, is_urgent: bool) -> _Places | None:
        for one in (self._ordinary, self._reserved) if is_urgent else (self._ordinary,):
            if one.has_room(party, is_shared=self._is_shared):
                return one
        return None

    async def _wait(self, party: str, waiting: _Waiting) -> _Places:
        granted: asyncio.Future[_Places] = asyncio.get_running_loop().create_future()
        waiting.setdefault(party, deque()).append(granted)
        try:
            async with asyncio.timeout(self._wait_seconds):
                return await granted
        except BaseException as error:
            if granted.done() and not granted.cancelled():
                self._give_back(granted.result(), party)  # the place came in the moment in which it was given up
            elif (queue := waiting.get(party)) is not None and granted in queue:
                queue.remove(granted)
                if not queue:
                    del waiting[party]
            if isinstance(error, TimeoutError):
                raise UnavailableError(
                    f"Waited {self._wait_seconds:g} s for a connection to the database: other requests of this"
                    " organization, or of all, use all available ones. Try again, with fewer requests at once.",
                    retry_after_seconds=_RETRY_AFTER_SECONDS,
                ) from error
            raise

    def _give_back(self, places: _Places, party: str) -> None:
        places.give_back(party)
        while self._hand_over(self._waiting_urgent, is_urgent=True) or self._hand_over(self._waiting, is_urgent=False):
            pass

    def _hand_over(self, waiting: _Waiting, *, is_urgent: bool) -> bool:
        """One place, to the party whose turn it is, of those that may have one; it is then behind the others. False:
        nobody could take one."""
        for party, queue in waiting.items():
            places = self._room(party, is_urgent=is_urgent)
            if places is None:
                continue
            del waiting[party]
            granted = queue.popleft()
            if queue:
                waiting[party] = queue
            # One that was given up in this turn of the loop is cancelled, and its task does not know yet.
            if not granted.done():
                places.take(party)
                granted.set_result(places)
            return True
        return False
