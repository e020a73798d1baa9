"""The parts of an instance, forked from one process that has loaded their modules and knows nothing else.

Loading is most of what a part costs when it starts. One process loads what all parts need, once, and each part is a
copy of it: with the environment, the session and the database login that it would have alone, and with most of its
memory shared. The process that loads gets no setting and no secret. It is also why a part that died is back at once.

Python's ``multiprocessing.forkserver`` works like this; but it forks nothing before all is loaded, keeps the caller
waiting meanwhile, and brings one more process (docs/decisions/0112).

Over a Unix socket, each message four bytes of length and that much JSON. To the server: ``{"load": [part, …]}``,
``{"start": part, "environment": {…}}``. From it: ``{"started": pid}`` for each start, in order, and later
``{"ended": pid, "status": exit status, or minus a signal}``.
"""

import asyncio
import json
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Any, Final

from headgate.kernel.errors import UnavailableError
from headgate.runtime.server_process import Program, RunningProgram, start

_MODULE: Final = "headgate.cli.forked_parts"
_LENGTH: Final = Struct(">I")


class ForkServer:
    """``start`` is for the ``Part`` of a supervisor. A server that has died is started again when a part is."""

    def __init__(self, metrics: Path, module: str = _MODULE) -> None:
        self._program = Program(
            name="fork server",
            command=(sys.executable, "-P", "-m", module, str(metrics.absolute())),
            environment={name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")},
        )
        self._connection: _Connection | None = None
        self._opening = asyncio.Lock()

    async def load(self, *parts: str) -> None:
        """What these parts need is loaded while nothing is to be started. Raises UnavailableError."""
        (await self._opened()).send({"load": parts})

    async def start(self, program: Program) -> RunningProgram:
        """``program.command``: the part alone. Raises UnavailableError."""
        [part] = program.command
        return RunningProgram(program, await (await self._opened()).fork(part, program.environment))

    async def close(self) -> None:
        """Ends the server, and with it whatever it has forked."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _opened(self) -> "_Connection":
        async with self._opening:
            if self._connection is None or not self._connection.is_open:
                await self.close()
                ours, theirs = socket.socketpair()
                with theirs:
                    running = await start(self._program, theirs.fileno())
                self._connection = _Connection(running, *await asyncio.open_unix_connection(sock=ours))
            return self._connection


class ForkedProcess:
    """What ``asyncio.subprocess.Process`` offers, of a process that is not our child. ``returncode``: None while it
    runs; where its server was killed, so were its processes (PR_SET_PDEATHSIG)."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def returncode(self) -> int | None:
        return self._status.result() if self._status.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._status)

    def send_signal(self, number: int) -> None:
        """Raises ProcessLookupError."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Raises ProcessLookupError."""
        self.send_signal(signal.SIGKILL)

    def end(self, status: int) -> None:
        self._status.set_result(status)


class _Connection:
    def __init__(self, running: RunningProgram, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.is_open = True
        self._running, self._reader, self._writer = running, reader, writer
        self._starting: deque[asyncio.Future[ForkedProcess]] = deque()
        self._forked: dict[int, ForkedProcess] = {}
        self._listening = asyncio.ensure_future(self._listen())

    def send(self, message: Mapping[str, object]) -> None:
        document = json.dumps(message).encode()
        self._writer.write(_LENGTH.pack(len(document)) + document)

    async def fork(self, part: str, environment: Mapping[str, str]) -> ForkedProcess:
        future: asyncio.Future[ForkedProcess] = asyncio.get_running_loop().create_future()
        self._starting.append(future)
        self.send({"start": part, "environment": dict(environment)})
        return await future

    async def close(self) -> None:
        await self._running.stop()
        await self._listening

    async def _listen(self) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                (size,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
                self._told(json.loads(await self._reader.readexactly(size)))
        self.is_open = False
        self._writer.close()
        for future in self._starting:
            if not future.done():
                future.set_exception(UnavailableError("the process that loads the parts has ended; see its log above"))
        for process in self._forked.values():
            process.end(-signal.SIGKILL)

    def _told(self, message: dict[str, Any]) -> None:
        if "ended" in message:
            self._forked.pop(message["ended"]).end(message["status"])
            return
        process = self._forked[message["started"]] = ForkedProcess(message["started"])
        future = self._starting.popleft()
        if future.done():  # whoever asked is gone, and nobody would stop it
            with suppress(ProcessLookupError):
                process.kill()
        else:
            future.set_result(process)
