"""One program as a child of this process: started, watched, stopped; it never outlives us."""

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from headgate.kernel.errors import UnavailableError
from headgate.runtime.account import Account, child_setup
from headgate.runtime.folders import disk_error


@dataclass(frozen=True, slots=True)
class Program:
    """What is started, and how it is ended. ``log`` None: it writes to our own stderr.

    ``death_signal`` is what the kernel sends it when this process is gone, however that came.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    log: Path | None = None
    account: Account | None = None
    death_signal: signal.Signals = signal.SIGKILL
    stop_signal: signal.Signals = signal.SIGTERM
    stop_seconds: float = 15.0


class Process(Protocol):
    """As ``asyncio.subprocess.Process``; ``send_signal`` and ``kill`` raise ProcessLookupError."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    async def wait(self) -> int: ...
    def send_signal(self, signal: int, /) -> None: ...
    def kill(self) -> None: ...


class RunningProgram:
    """A started Program."""

    def __init__(self, program: Program, process: Process) -> None:
        self.program = program
        self.started_at = time.monotonic()
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    async def wait(self) -> int:
        """The exit status; negative: the signal that killed it."""
        return await self._process.wait()

    async def stop(self) -> None:
        """Ask it to end, and end it when its time is over."""
        with suppress(ProcessLookupError):
            self._process.send_signal(self.program.stop_signal)
        try:
            async with asyncio.timeout(self.program.stop_seconds):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    def last_words(self, lines: int = 8) -> str:
        """The end of its log, for a message."""
        return "" if self.program.log is None else tail(self.program.log, lines)


async def start(program: Program, standard_input: int = asyncio.subprocess.DEVNULL) -> RunningProgram:
    """Raises UnavailableError. ``standard_input``: a file descriptor.

    To be called on the main thread: the kernel takes the death of the *thread* that forked for the parent's.
    """
    try:
        log = None if program.log is None else os.open(program.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            process = await asyncio.create_subprocess_exec(
                *program.command,
                env=program.environment,
                cwd="/",
                stdin=standard_input,
                stdout=log,
                stderr=log,
                # Ctrl-C goes to the whole foreground group; what is stopped, and in which order, is ours to say.
                start_new_session=True,
                preexec_fn=child_setup(program.death_signal, program.account),
            )
        finally:
            if log is not None:
                os.close(log)
    except OSError as error:
        if program.log is not None:
            raise disk_error(error, program.log) from error
        raise UnavailableError(f"{program.name} cannot be started: {error}") from error
    return RunningProgram(program, process)


def tail(path: Path, lines: int) -> str:
    """The last lines of a file, as far as it can be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 16_384))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
