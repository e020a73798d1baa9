"""One job, again and again: quickly while there is work, ever more slowly while there is none, and after errors.

A loop ends only when it is told to; whatever its body raises is logged and waited out.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from msgspec import Struct

from headgate.kernel.errors import UnavailableError

_log = structlog.get_logger(__name__)

WATCHED_SECONDS: Final = 30.0
"""The longest pause of a loop that the watch wakes (``headgate.worker.watch``)."""


class Loop(Struct, frozen=True):
    """``body`` returns how much it did. The pause is ``busy_seconds`` after work, and doubles up to
    ``idle_seconds`` while there is none; after an error it doubles up to ``error_seconds``. ``wake`` ends a pause that
    no error began, once it is ``busy_seconds`` long.
    """

    name: str
    body: Callable[[], Awaitable[int]]
    busy_seconds: float
    idle_seconds: float
    error_seconds: float = 2.0
    wake: asyncio.Event | None = None


def next_pause(loop: Loop, pause: float, done: int | None) -> float:
    """The pause after a round: ``done`` is what the body returned, None for an error."""
    if done is None:
        return min(max(pause * 2, loop.busy_seconds), max(loop.error_seconds, loop.busy_seconds))
    if done > 0:
        return loop.busy_seconds
    return min(max(pause * 2, loop.busy_seconds), loop.idle_seconds)


async def keep_running(loop: Loop, stop: asyncio.Event, *, begin_after_seconds: float = 0) -> None:
    """Run until ``stop`` is set; a round that is under way then is finished first."""
    await _wait(begin_after_seconds, stop)
    pause = loop.busy_seconds
    while not stop.is_set():
        if loop.wake is not None:
            loop.wake.clear()  # before the round, which finds all that woke it
        done = await _round(loop)
        pause = next_pause(loop, pause, done)
        if loop.wake is None or done is None:
            await _wait(pause, stop)
        elif not await _wait(loop.busy_seconds, stop):
            await _wait(pause - loop.busy_seconds, stop, loop.wake)


async def _wait(seconds: float, *events: asyncio.Event) -> bool:
    """Whether one of the events is set, or was within so many seconds."""
    if any(event.is_set() for event in events):
        return True
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for one in waits:
            one.cancel()


async def _round(loop: Loop) -> int | None:
    try:
        return await loop.body()
    except UnavailableError as error:
        _log.warning("worker_loop_waits", loop=loop.name, error=error.message)
    except Exception:  # noqa: BLE001 - a bug in one job must stop neither itself nor the others
        _log.exception("worker_loop_failed", loop=loop.name)
    return None
