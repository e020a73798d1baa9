"""A server whose behaviour can be changed while it runs, and what an outage leaves behind in this process."""

import asyncio
import contextlib
import random
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path

_READ_BYTES = 65536
_DRIP_SECONDS = 0.05


class Outage(StrEnum):
    """How a server fails. ``NONE``: it answers."""

    NONE = "none"
    CONNECT_HANGS = "connect hangs"
    SILENT = "silent"
    RESET = "reset"
    DRIP = "drip"
    HALF_HEAD = "half head"
    HALF_BODY = "half body"


class FailingServer:
    """``answer`` is what it sends, as often as it is asked, on one connection."""

    def __init__(self, listener: socket.socket, answer: bytes) -> None:
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._answer = answer
        self._outage = Outage.NONE
        self._accepting: asyncio.Task[None] | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._fillers: list[socket.socket] = []

    async def fail(self, outage: Outage) -> None:
        await self.close()
        self._outage = outage
        if outage is Outage.CONNECT_HANGS:
            # A full queue of connections that nobody accepts: the next SYN has no answer.
            self._listener.listen(0)
            for _ in range(2):
                filler = socket.socket()
                filler.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    filler.connect(self._listener.getsockname())
                self._fillers.append(filler)
        else:
            self._listener.listen(1024)
            self._accepting = asyncio.create_task(self._accept())

    async def close(self) -> None:
        """Ends every connection."""
        for filler in self._fillers:
            filler.close()
        self._fillers.clear()
        tasks = [*self._serving, *([self._accepting] if self._accepting else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._serving.clear()
        self._accepting = None

    async def _accept(self) -> None:
        while True:
            connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            task = asyncio.create_task(self._serve(connection, self._outage))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    async def _serve(self, connection: socket.socket, outage: Outage) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError), contextlib.closing(connection):
            while await loop.sock_recv(connection, _READ_BYTES):
                match outage:
                    case Outage.NONE:
                        await loop.sock_sendall(connection, self._answer)
                    case Outage.SILENT:
                        await asyncio.Event().wait()
                    case Outage.RESET:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return
                    case Outage.DRIP:
                        for byte in self._answer:
                            await loop.sock_sendall(connection, bytes((byte,)))
                            await asyncio.sleep(_DRIP_SECONDS)
                    case Outage.HALF_HEAD:
                        await loop.sock_sendall(connection, self._answer[:12])
                        return
                    case Outage.HALF_BODY:
                        await loop.sock_sendall(connection, self._answer[:-5])
                        return


@asynccontextmanager
async def failing_server(answer: bytes) -> AsyncIterator[FailingServer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        server = FailingServer(listener, answer)
        await server.fail(Outage.NONE)
        try:
            yield server
        finally:
            await server.close()


def json_answer(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


async def crowd(call: Callable[[int], Awaitable[object]], size: int, patience_seconds: float, seed: int) -> None:
    """``size`` calls at once, of which every second is cancelled at some moment within ``patience_seconds``."""
    choose = random.Random(seed)  # noqa: S311 - moments, not secrets

    async def one(number: int) -> None:
        patience = choose.uniform(0, patience_seconds) if number % 2 else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await call(number)

    await asyncio.gather(*(one(number) for number in range(size)), return_exceptions=True)


def open_files() -> set[str]:
    """File descriptors of this process, each with what it is; a socket with its line in /proc/net."""
    lines = [line for name in ("tcp", "tcp6", "unix") for line in Path("/proc/self/net", name).read_text().splitlines()]
    found = set()
    for one in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing
            target = str(one.readlink())
            inode = target.removeprefix("socket:[").removesuffix("]")
            found.add(" ".join((one.name, target, *(line for line in lines if inode in line.split()))))
    return found


async def files_left(before: set[str], kept_max: int = 0, seconds: float = 2.0) -> set[str]:
    """What is open and was not before; nothing once no more than ``kept_max`` files are open besides."""
    ends_at = time.monotonic() + seconds
    while len(now := open_files()) > len(before) + kept_max and time.monotonic() < ends_at:
        await asyncio.sleep(0.02)
    return now - before if len(now) > len(before) + kept_max else set()
