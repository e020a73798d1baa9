"""Keeps a masker running beside this proxy process, from the first exchange that is captured.

There is one masker on a machine: each proxy looks again and again whether there is, as it ends with the proxy that has
started it.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from headgate.traffic.spool_reader import has_masker, is_empty

_log = structlog.get_logger(__name__)

_LOOK_SECONDS: Final = 1.0
_AGAIN_SECONDS: Final = 5.0
_STOP_SECONDS: Final = 5.0


class MaskerProcess:
    """``is_needed``: whether this process has captured anything."""

    def __init__(self, folder: Path, is_needed: Callable[[], bool]) -> None:
        self._folder = folder
        self._is_needed = is_needed
        self._process: asyncio.subprocess.Process | None = None

    async def keep_running(self) -> None:
        while True:
            if await asyncio.to_thread(self._should_start):
                try:
                    self._process = await asyncio.create_subprocess_exec(
                        # -P: no module of the current folder takes the place of ours.
                        *(sys.executable, "-P", "-m", "headgate.cli.main", "masker", "--beside", str(os.getpid())),
                        stdin=asyncio.subprocess.DEVNULL,
                    )
                    await self._process.wait()
                except OSError as error:
                    _log.error("masker_not_started", error=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            await asyncio.sleep(_LOOK_SECONDS)

    def _should_start(self) -> bool:
        is_needed = self._is_needed() or not is_empty(self._folder)
        return is_needed and not has_masker(self._folder)

    async def close(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
