"""Wakes whoever waits at this moment.

For what each connection has and few ever wait for: ``asyncio.Event`` has a queue of 760 bytes from the start.
"""

import asyncio


class WakeSignal:
    """In one event loop. It keeps no state: who comes after ``wake`` waits for the next one."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    async def wait(self) -> None:
        woken = asyncio.get_running_loop().create_future()
        self._waiting = *self._waiting, woken
        try:
            await woken
        finally:
            self._waiting = tuple(one for one in self._waiting if one is not woken)

    def wake(self) -> None:
        waiting, self._waiting = self._waiting, ()
        for one in waiting:
            if not one.done():
                one.set_result(None)
