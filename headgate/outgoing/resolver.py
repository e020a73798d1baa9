"""Names to addresses, in threads of their own: a name server that hangs keeps nobody but its callers waiting."""

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Final, Protocol

from headgate.organizations.addresses import Address

_THREADS: Final = 128
"""More than those who ask at once: a look-up goes on in its thread when its caller has given up."""


class Resolver(Protocol):
    """Raises OSError where the name has no address."""

    async def __call__(self, host: str, port: int) -> Sequence[Address]: ...


class SystemResolver:
    """The machine's own resolver (``getaddrinfo``), in the order that RFC 6724 gives the addresses."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolve")

    async def __call__(self, host: str, port: int) -> Sequence[Address]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host, port)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int) -> Sequence[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except UnicodeError as error:
        raise OSError("not a name") from error
    return tuple(dict.fromkeys(ip_address(str(one[4][0]).partition("%")[0]) for one in found))
