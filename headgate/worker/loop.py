"""One job, again and again: quickly while there is work, ever more slowly while there is none, and after errors.

A loop ends only when it is told to; whatever its body raises is logged and waited out.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import structlog

from headgate.kernel.errors import UnavailableError

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Loop:
    """``body`` returns how much it did. The pause is ``busy_seconds`` after work, and doubles up to
    ``idle_seconds`` while there is none; after an error it doubles up to ``error_seconds``.
    """

    name: str
    body: Callable[[], Awaitable[int]]
    busy_seconds: float
    idle_seconds: float
    error_seconds: float = 2.0


def next_pause(loop: Loop, pause: float, done: int | None) -> float:
    """The pause after a round: ``done`` is what the body returned, None for an error."""
    if done is None:
        return min(max(pause * 2, loop.busy_seconds), max(loop.error_seconds, loop.busy_seconds))
    if done > 0:
        return loop.busy_seconds
    return min(max(pause * 2, loop.busy_seconds), loop.idle_seconds)


async def keep_running(loop: Loop, stop: asyncio.Event) -> None:
    """Run until ``stop`` is set; a round that is under way then is finished first."""
    pause = loop.busy_seconds
    while not stop.is_set():
        pause = next_pause(loop, pause, await _round(loop))
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await stop.wait()


async def _round(loop: Loop) -> int | None:
    try:
        return await loop.body()
    except UnavailableError as error:
        _log.warning("worker_loop_waits", loop=loop.name, error=error.message)
    except Exception:  # noqa: BLE001 - a bug in one job must stop neither itself nor the others
        _log.exception("worker_loop_failed", loop=loop.name)
    return None
