"""Name resolution under the guard: asyncio connects only to what ``loop.getaddrinfo`` returns.

Plain asyncio asks its own ``getaddrinfo`` for every name it connects to, so this is the one place where the
addresses that a name stands for can be judged without a gap between judging and connecting (rebinding).
uvloop resolves elsewhere and would pass it by; ``install`` refuses such a loop.
"""

import asyncio
import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from addons.guard import current_dial


class UnguardedLoopError(RuntimeError):
    """The event loop is not asyncio's own, so connections would pass the guard by."""


class GuardedResolver:
    """Stands in for ``loop.getaddrinfo``; outside of a dial (database, Redis) it changes nothing."""

    # The shapes are asyncio's own, which are wider than can be said more precisely.
    def __init__(self, resolve: Callable[..., Any]) -> None:
        self._resolve = resolve

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
        found = await self._resolve(host, port, family=family, type=type, proto=proto, flags=flags)
        dial = current_dial()
        if dial is None:
            return list(found)
        # A dial resolves one name only; another would be judged by the wrong rules.
        if host != dial.host or port != dial.port:
            raise UnguardedLoopError("a connection asked for another name than the one it was permitted")
        selected = dial.select(ip_address(info[4][0].partition("%")[0]) for info in found)
        return [info for info in found if ip_address(info[4][0].partition("%")[0]) in selected]


def install(loop: asyncio.AbstractEventLoop) -> None:
    """Put the guard into ``loop``. Raises UnguardedLoopError."""
    if not isinstance(loop, asyncio.SelectorEventLoop):
        raise UnguardedLoopError(f"{type(loop).__module__} resolves names outside of asyncio: use plain asyncio")
    if not isinstance(loop.getaddrinfo, GuardedResolver):
        loop.getaddrinfo = GuardedResolver(loop.getaddrinfo)  # type: ignore[method-assign,assignment] # the seam itself
