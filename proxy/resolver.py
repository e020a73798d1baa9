"""Name resolution under the guard: asyncio connects only to what ``loop.getaddrinfo`` returns.

Plain asyncio asks its own ``getaddrinfo`` for every name it connects to, so this is the one place where the
addresses that a name stands for can be judged without a gap between judging and connecting (rebinding).
uvloop resolves elsewhere and would pass it by; ``install`` refuses such a loop.

A look-up takes a thread for as long as its name server likes, also when nobody waits for it any more. One organization
has so many of them at once: agents that call names of a server which never answers took all of a process. The threads
are for this alone: asyncio's own are as many as the machine has processors, and four more, and other work needs them.
"""

import asyncio
import socket
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address
from typing import Any, Final

from addons.guard import current_dial
from headgate.kernel.tasks import TaskSet

_THREADS: Final = 128
_MOST_OF_ONE_ORGANIZATION: Final = 16


class UnguardedLoopError(RuntimeError):
    """The event loop is not asyncio's own, so connections would pass the guard by."""


class GuardedResolver:
    """Stands in for ``loop.getaddrinfo``; outside of a dial (database, Redis) it changes nothing."""

    # The shapes are asyncio's own, which are wider than can be said more precisely.
    def __init__(self, resolve: Callable[..., Any], most_of_one_organization: int = _MOST_OF_ONE_ORGANIZATION) -> None:
        self._resolve = resolve
        self._free: defaultdict[str | None, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(most_of_one_organization)
        )
        self._tasks = TaskSet(lambda name, error: None)  # whoever waits for it is told

    async def __call__(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002 - asyncio calls it by this name
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int]]]:
        dial = current_dial()
        if dial is None:
            return list(await self._resolve(host, port, family=family, type=type, proto=proto, flags=flags))
        # A dial resolves one name only; another would be judged by the wrong rules.
        if host != dial.host or port != dial.port:
            raise UnguardedLoopError("a connection asked for another name than the one it was permitted")
        free = self._free[dial.org_id]
        await free.acquire()
        looking = self._tasks.start(
            self._resolve(host, port, family=family, type=type, proto=proto, flags=flags), name="resolve"
        )
        looking.add_done_callback(lambda _: free.release())
        # Shielded: a client that goes away does not end the thread, and so gives nothing back.
        # Not of the wait before: agents can make it long, and a name without an answer may go to an upstream proxy.
        async with asyncio.timeout(dial.look_up_seconds):
            found: Any = await asyncio.shield(looking)
        selected = dial.select(ip_address(info[4][0].partition("%")[0]) for info in found)
        return [info for info in found if ip_address(info[4][0].partition("%")[0]) in selected]


def install(loop: asyncio.AbstractEventLoop) -> None:
    """Put the guard into ``loop``. Raises UnguardedLoopError."""
    if not isinstance(loop, asyncio.SelectorEventLoop):
        raise UnguardedLoopError(f"{type(loop).__module__} resolves names outside of asyncio: use plain asyncio")
    if not isinstance(loop.getaddrinfo, GuardedResolver):
        threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolve")

        async def look_up(*name: Any, **options: Any) -> Any:
            return await loop.run_in_executor(threads, partial(socket.getaddrinfo, *name, **options))

        loop.getaddrinfo = GuardedResolver(look_up)  # type: ignore[method-assign,assignment] # the seam itself
