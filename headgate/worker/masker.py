"""The masker's process: of low priority, beside the proxies of one machine, the only one at its spool.

It logs in as the proxies do, and can do no more with that than they: call the functions that record.
"""

import asyncio
import ctypes
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog
from msgspec import Struct

from headgate.configuration.data_directory import DataDirectory
from headgate.db.database import Database
from headgate.detectors.prepare import prepare
from headgate.kernel.secrets import Secret
from headgate.traffic.masker import Masker
from headgate.traffic.spool_reader import only_masker
from headgate.vault.service import vault_of
from headgate.vault.unwrapper import Unwrapper
from headgate.worker.loop import Loop, keep_running

_log = structlog.get_logger(__name__)

NOT_NEEDED: Final = 75
"""Another process does it (EX_TEMPFAIL of sysexits.h)."""
_NICENESS: Final = 19
_PR_SET_PDEATHSIG: Final = 1


class MaskerSettings(Struct, frozen=True):
    """``database_dsn`` logs in as headgate_proxy. ``master_keys_file`` None: the one in ``data_dir``. ``unwrapper``: of
    wrapped master keys. ``beside``: the process that it ends with; None: it runs by itself."""

    database_dsn: Secret
    data_dir: Path
    master_keys_file: Path | None = None
    unwrapper: Unwrapper | None = None
    beside: int | None = None

    @property
    def data(self) -> DataDirectory:
        return DataDirectory(self.data_dir)


async def run(settings: MaskerSettings) -> int:
    """Until SIGTERM or SIGINT, or the end of whom it runs beside; the exit status."""
    if settings.beside is not None:
        # The kernel tells it, however its parent ends (prctl(2)).
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != settings.beside:
            return 0
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    with only_masker(settings.data.captures) as is_only:
        if not is_only:
            return NOT_NEEDED
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await _mask_until(settings, stop)
    return 0


async def _mask_until(settings: MaskerSettings, stop: asyncio.Event) -> None:
    prepare()
    database = Database(settings.database_dsn, max_connections=1, timeout_seconds=30.0)
    await database.open()
    vault = vault_of(settings)
    masker = Masker(settings.data.captures, database, vault, should_stop=stop.is_set)
    _log.info("masker_started")
    try:
        await keep_running(Loop("mask", masker.run, busy_seconds=0.05, idle_seconds=0.5, error_seconds=5.0), stop)
    finally:
        await database.close()
        _log.info("masker_stopped")
