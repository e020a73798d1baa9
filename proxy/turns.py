"""The time of the event loop, in turns: a party that has used its slice of one waits for the next.

All clients of a process share one thread. Reading what a client sent (TLS, heads, frames, decisions) takes it
microseconds to milliseconds, and a party with a thousand connections had all of them served before anybody else's. Here
each party (``addons.share``) has a slice of each turn of the event loop, and what it sends beyond it waits; so one
party alone uses all of the process, and beside others its part (deficit round robin, Shreedhar and Varghese 1996).
"""

import asyncio
from collections.abc import Coroutine, Generator
from heapq import heappop, heappush
from itertools import count
from time import perf_counter
from typing import Any, Final

from addons.share import Share

ALONE_AFTER_SECONDS: Final = 1.0
"""Where nobody else took anything for so long, there is nobody to leave time for."""
ALONE_SLICES: Final = 8
"""What a party alone may take in one turn, in slices: as long as the first one that comes beside it waits."""
_WOKEN_AT_ONCE: Final = 16
"""Of one party, for each slice. As many as the slice is expected to have room for: each looks first whether anything is
left of it, and waits again where nothing is."""
_NEW_WEIGHT: Final = 1 / 8
"""Of the last piece, in what the next ones are expected to take."""


class Turns:
    """Of one process. A turn is one round of the event loop in which anything was done."""

    def __init__(self) -> None:
        self._number = 0
        self._is_armed = False
        self._tickets = count()
        self._waiting: dict[Share, list[tuple[int, asyncio.Future[None]]]] = {}
        self._last: Share | None = None
        self._others_until = 0.0

    def charge(self, share: Share, seconds: float) -> None:
        number = self._number
        if share is not self._last:
            self._last, self._others_until = share, perf_counter() + ALONE_AFTER_SECONDS
        share.piece_seconds += (seconds - share.piece_seconds) * _NEW_WEIGHT
        one: Share | None = share
        while one is not None:
            if one.turn == number:
                one.used_seconds += seconds
            else:
                one.turn, one.used_seconds = number, seconds
            one = one.parent
        if not self._is_armed:
            self._arm()

    def must_wait(self, share: Share) -> bool:
        """Whether this party has used its slice, or something of it waits already."""
        return share in self._waiting or self._is_used_up(share)

    async def wait(self, share: Share) -> None:
        """Until a later turn, in the order in which it was asked for."""
        ticket = next(self._tickets)
        loop = asyncio.get_running_loop()
        while True:
            woken = loop.create_future()
            heappush(self._waiting.setdefault(share, []), (ticket, woken))
            if not self._is_armed:
                self._arm()
            await woken
            if not self._is_used_up(share):
                return

    def _is_used_up(self, share: Share) -> bool:
        number = self._number
        one: Share | None = share
        while one is not None:
            if one.turn == number and one.used_seconds >= one.slice_seconds:
                return one.used_seconds >= one.slice_seconds * self._slices(share)
            one = one.parent
        return False

    def _slices(self, share: Share) -> int:
        is_alone = share is self._last and perf_counter() > self._others_until
        return ALONE_SLICES if is_alone else 1

    def _arm(self) -> None:
        self._is_armed = True
        asyncio.get_running_loop().call_soon(self._begin_next)

    def _begin_next(self) -> None:
        self._number += 1
        self._is_armed = False
        if not self._waiting:
            return
        # Another is first each time: those behind it may find the slice of their organization used up.
        first = next(iter(self._waiting))
        self._waiting[first] = self._waiting.pop(first)
        for share, queue in list(self._waiting.items()):
            woken = 0
            room = max(1, min(_WOKEN_AT_ONCE, round(share.slice_seconds / max(share.piece_seconds, 1e-9))))
            room *= self._slices(share)
            while queue and woken < room:
                _, future = heappop(queue)
                if not future.done():
                    future.set_result(None)
                    woken += 1
            if not queue:
                del self._waiting[share]
        self._arm()


class Timed[T]:
    """Awaits a coroutine, and charges what each of its steps takes."""

    __slots__ = ("_coroutine", "_share", "_turns")

    def __init__(self, coroutine: Coroutine[Any, Any, T], turns: Turns, share: Share) -> None:
        self._coroutine = coroutine
        self._turns = turns
        self._share = share

    def __await__(self) -> Generator[Any, None, T]:
        error: BaseException | None = None
        while True:
            began = perf_counter()
            try:
                waited_for = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
            except StopIteration as done:
                value: T = done.value
                return value
            finally:
                self._turns.charge(self._share, perf_counter() - began)
            error = None
            try:
                yield waited_for
            except BaseException as raised:  # noqa: BLE001 - cancellation too is the coroutine's to handle
                error = raised
