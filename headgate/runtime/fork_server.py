"""The parts of an instance, forked from one process that has loaded their modules and holds no secret of theirs.

Loading is most of what a part costs when it starts. One process loads what all parts need, once, and each part is a
copy of it: with the environment, the session and the database login that it would have alone, and with most of its
memory shared. A part that died is forked again without loading anything.

Python's ``multiprocessing.forkserver`` works like this; but it forks nothing before all is loaded, keeps the caller
waiting meanwhile, and brings one more process (docs/decisions/0112).

A task is forked like a part. It ends by itself, and its standard output is its answer.

Messages are packets of a Unix socket, in JSON. To the server: ``{"load": [part, …]}``, and ``{"start": part}`` with a
file that holds the part's environment, which only the forked process reads, and for a task a second file, its standard
output. From the server, one for each start, in order: ``{"started": pid}`` with a file descriptor of the process
(pidfd_open(2)), or ``{"failed": reason}``. Later ``{"ended": pid, "status": exit status, or minus a signal}``.
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
from typing import Any, Final

import structlog

from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet
from headgate.runtime.server_process import Program, RunningProgram, start

PACKET_BYTES: Final = 65_536
FILES_MAX: Final = 2
_MODULE: Final = "headgate.cli.forked_parts"
_START_SECONDS: Final = 60.0
_NEEDED: Final = ("PATH", "HOME", "TMPDIR", "TZ", "LANG", "PROMETHEUS_MULTIPROC_DIR")
_NEEDED_PREFIXES: Final = ("LC_", "LD_", "PYTHON", "OPENSSL_", "SSL_", "MALLOC_")

_log = structlog.get_logger(__name__)


class ForkServer:
    """``start`` is for the ``Part`` of a supervisor. A server that has died is started again when a part is."""

    def __init__(self, metrics: Path, module: str = _MODULE) -> None:
        self._metrics = metrics.absolute()
        self._program = Program(
            name="fork server",
            command=(sys.executable, "-P", "-m", module, str(self._metrics)),
            environment={name: value for name, value in os.environ.items() if _is_needed(name)},
        )
        self._connection: _Connection | None = None
        self._opening = asyncio.Lock()

    async def load(self, *parts: str) -> None:
        """What these parts need is loaded while nothing is to be started. Raises UnavailableError."""
        (await self._open()).send({"load": parts})

    async def start(self, program: Program) -> RunningProgram:
        """``program.command``: the part alone. Its log, account and signal are those of the server. Raises
        UnavailableError."""
        [part] = program.command
        return RunningProgram(program, await (await self._open()).fork(part, program.environment))

    async def ask(self, program: Program) -> bytes:
        """What a task answers; ``program.command``: the task alone. A caller that goes away ends it. Raises
        UnavailableError."""
        [task] = program.command
        with os.fdopen(os.memfd_create("answer"), "w+b") as answer:
            process = await (await self._open()).fork(task, program.environment, answer.fileno())
            try:
                status = await process.wait()
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
            if status != 0:
                raise UnavailableError(f"the task {task} ended with {_in_words(status)}: see its log on stderr")
            answer.seek(0)
            return answer.read()

    async def close(self) -> None:
        """Ends the server, and with it whatever it has forked."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    def kill(self) -> None:
        """As ``close``, without waiting."""
        if self._connection is not None:
            self._connection.kill()

    async def _open(self) -> "_Connection":
        async with self._opening:
            if self._connection is None or not self._connection.is_open:
                await self.close()
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                with theirs:
                    try:
                        running = await start(self._program, theirs.fileno())
                    except BaseException:
                        ours.close()
                        raise
                self._connection = _Connection(running, ours, self._metrics)
            return self._connection


class ForkedProcess:
    """A process forked by the fork server, with the interface of ``asyncio.subprocess.Process``.

    ``descriptor``: of the process, so that a signal never reaches another one that has got its number.
    """

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor = descriptor
        self._status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def returncode(self) -> int | None:
        return self._status.result() if self._status.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._status)

    def send_signal(self, number: int) -> None:
        """Raises ProcessLookupError."""
        if not self._status.done():
            signal.pidfd_send_signal(self._descriptor, number)

    def kill(self) -> None:
        """Raises ProcessLookupError."""
        self.send_signal(signal.SIGKILL)

    def end(self, status: int) -> None:
        self._status.set_result(status)
        os.close(self._descriptor)


class _Connection:
    def __init__(self, running: RunningProgram, channel: socket.socket, metrics: Path) -> None:
        self.is_open = True
        self._running, self._channel, self._metrics = running, channel, metrics
        self._starting: deque[asyncio.Future[ForkedProcess]] = deque()
        self._forked: dict[int, ForkedProcess] = {}
        self._tasks = TaskSet(lambda name, error: _log.error("fork_server_not_followed", error=repr(error)))
        channel.setblocking(False)
        self._tasks.start(self._follow(), name="fork server")

    def send(self, message: Mapping[str, object], files: tuple[int, ...] = ()) -> None:
        """Raises UnavailableError."""
        try:
            socket.send_fds(self._channel, [json.dumps(message).encode()], files)
        except OSError as error:
            self.is_open = False
            raise UnavailableError(f"the fork server cannot be told what to start: {error}") from error

    async def fork(self, part: str, environment: Mapping[str, str], output: int | None = None) -> ForkedProcess:
        """``output``: the descriptor of its standard output, if it is not ours. Raises UnavailableError."""
        with os.fdopen(os.memfd_create("environment"), "w+b") as file:
            file.write(json.dumps(dict(environment)).encode())
            file.seek(0)
            self.send({"start": part}, (file.fileno(),) if output is None else (file.fileno(), output))
        started: asyncio.Future[ForkedProcess] = asyncio.get_running_loop().create_future()
        self._starting.append(started)
        try:
            async with asyncio.timeout(_START_SECONDS):
                return await asyncio.shield(started)
        except TimeoutError:
            started.add_done_callback(_kill)
            self.kill()
            raise UnavailableError(f"{part}: not forked within {_START_SECONDS:.0f} s") from None
        except asyncio.CancelledError:
            started.add_done_callback(_kill)  # no one else stops it
            raise

    def kill(self) -> None:
        self._running.kill()

    async def close(self) -> None:
        self.kill()
        await self._running.wait()
        await self._tasks.close()

    async def _follow(self) -> None:
        """Until the server has ended, and its processes have with it."""
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._channel, readable.set)
        try:
            while True:
                await readable.wait()
                readable.clear()
                while received := self._received():
                    self._take(*received)
                if received is not None:
                    return
        finally:
            loop.remove_reader(self._channel)
            self._end()

    def _received(self) -> tuple[dict[str, Any], list[int]] | tuple[()] | None:
        """A message and its files; empty: the server has ended; None: there is no more to read now."""
        try:
            packet, files, _, _ = socket.recv_fds(self._channel, PACKET_BYTES, 1)
        except BlockingIOError:
            return None
        except OSError:
            return ()
        return (json.loads(packet), files) if packet else ()

    def _take(self, message: dict[str, Any], files: list[int]) -> None:
        if "ended" in message:
            self._forked.pop(message["ended"]).end(message["status"])
        elif "failed" in message:
            self._starting.popleft().set_exception(UnavailableError(message["failed"]))
        else:
            process = self._forked[message["started"]] = ForkedProcess(message["started"], *files)
            self._starting.popleft().set_result(process)

    def _end(self) -> None:
        self.is_open = False
        self._channel.close()
        for started in self._starting:
            started.set_exception(UnavailableError("the fork server has ended; its last words are on stderr"))
        for process in self._forked.values():
            with suppress(ProcessLookupError):
                process.kill()  # the kernel does so too, a moment after it has closed the socket
            process.end(-signal.SIGKILL)
        for file in self._metrics.glob(f"*_{self._running.pid}.db"):
            file.unlink(missing_ok=True)


def _kill(started: asyncio.Future[ForkedProcess]) -> None:
    if started.exception() is None:
        with suppress(ProcessLookupError):
            started.result().kill()


def _in_words(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"signal {-status}"


def _is_needed(name: str) -> bool:
    """For Python and its libraries; what else is in our environment may be a secret."""
    return name in _NEEDED or name.startswith(_NEEDED_PREFIXES)
