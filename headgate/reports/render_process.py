"""The report's child as its parent sees it: fed with events, given a time to finish, killed when it is late."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from headgate.kernel.errors import ErrorCode, HeadgateError
from headgate.reports.basis import Basis, to_document
from headgate.reports.frames import ChainRow, write_document, write_end, write_rows

RENDER_SECONDS: Final = 600.0
"""From the last event to the file. Far more than it takes: on a busy machine a report gets what calls leave."""
_FEED_SECONDS: Final = 300.0
_SAID_BYTES: Final = 4000


class RenderError(HeadgateError):
    """The child ended without a report; the message says how."""

    code = ErrorCode.INTERNAL_ERROR


class RenderProcess:
    """One report: ``feed`` its events, then ``finish``; ``close`` in any case. ``fonts``: of a PDF, beside its own."""

    def __init__(self, *, most_bytes: int, render_seconds: float = RENDER_SECONDS, fonts: Sequence[Path] = ()) -> None:
        self._fonts = fonts
        self._most_bytes = most_bytes
        self._render_seconds = render_seconds
        self._process: asyncio.subprocess.Process | None = None
        self._said: BinaryIO | None = None

    async def start(self, basis: Basis, file: BinaryIO) -> None:
        """``file`` is written by the child; it has no name, so that nothing is left of a killed worker."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - close closes it
        # -P: no module of the current folder takes the place of ours. Our environment is not inherited.
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "headgate.reports.render_child", str(file.fileno()), str(self._most_bytes),
            *map(str, self._fonts), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=self._said,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": "/nonexistent", "TMPDIR": tempfile.gettempdir()},
            pass_fds=[file.fileno()],
        )  # fmt: skip
        await self._write(write_document(to_document(basis)))

    async def feed(self, rows: list[ChainRow]) -> None:
        """Raises RenderError. Waits for the child, so that no more than a window is held."""
        await self._write(write_rows(rows))

    async def finish(self) -> None:
        """Raises RenderError."""
        process = self._running()
        await self._write(write_end())
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None and stdout is not None  # noqa: S101 - asked for at its start
        stdin.close()
        try:
            async with asyncio.timeout(self._render_seconds):
                answer = await stdout.read()
                await process.wait()
        except TimeoutError as error:
            raise RenderError(f"the report was not rendered within {self._render_seconds:.0f} s") from error
        if process.returncode != 0 or answer != b"made\n":
            raise RenderError(await self._ending())

    async def close(self) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if self._said is not None:
            self._said.close()

    async def _write(self, content: bytes) -> None:
        stdin = self._running().stdin
        assert stdin is not None  # noqa: S101 - asked for at its start
        try:
            stdin.write(content)
            async with asyncio.timeout(_FEED_SECONDS):
                await stdin.drain()
        except TimeoutError as error:
            raise RenderError("the report process accepts no more events") from error
        except (BrokenPipeError, ConnectionResetError) as error:
            raise RenderError(await self._ending()) from error

    async def _ending(self) -> str:
        process = self._running()
        await process.wait()
        last = "" if self._said is None else _last_line(self._said)
        return f"the report's process ended ({process.returncode})" + (f": {last}" if last else "")

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RenderError("the report's process was not started")
        return self._process


def _last_line(file: BinaryIO) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _SAID_BYTES, 0))
    return file.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
