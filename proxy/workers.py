"""Several proxy processes on one port: forked before anything is opened, restarted when they die.

Each worker binds the port itself (SO_REUSEPORT, socket(7)), and the kernel spreads connections over them. The
first process only waits: it keeps the port reserved, so that nobody takes it while all workers are down. A
worker never outlives it (PR_SET_PDEATHSIG, prctl(2)).
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from traceback import print_exc
from types import FrameType
from typing import Final

import structlog

from proxy.listener import reserve_port

_log = structlog.get_logger(__name__)

_PR_SET_PDEATHSIG: Final = 1
_STABLE_SECONDS: Final = 10.0
_LONGEST_BACKOFF_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.1


class Workers:
    """``serve`` is run in each of ``count`` processes and returns when it is told to stop by SIGTERM."""

    def __init__(self, count: int, serve: Callable[[], None], *, stop_seconds: float = 20.0) -> None:
        self._count = count
        self._serve = serve
        self._stop_seconds = stop_seconds
        self._running: dict[int, float] = {}  # process id, time of its start
        self._backoff_seconds = 0.0
        self._next_start = 0.0
        self._stopping = False

    def run(self, host: str, port: int) -> None:
        """Until SIGTERM or SIGINT. Must be called before any thread or event loop exists in this process.

        Raises UnavailableError where the port is taken.
        """
        with reserve_port(host, port):
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._stop)
            while not self._stopping:
                self._start_missing()
                time.sleep(_POLL_SECONDS)
                self._reap()
            self._end()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _start_missing(self) -> None:
        now = time.monotonic()
        while len(self._running) < self._count and not self._stopping and now >= self._next_start:
            self._running[self._fork()] = now

    def _fork(self) -> int:
        parent = os.getpid()
        process_id = os.fork()
        if process_id:
            return process_id
        # From here on this is the worker; it must never return into the parent's code.
        status = 1
        try:
            _die_with(parent)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            self._serve()
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        except BaseException:  # noqa: BLE001 - whatever it was, the worker ends here
            print_exc()
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> None:
        while self._running:
            process_id, status = os.waitpid(-1, os.WNOHANG)
            if process_id == 0:
                return
            started = self._running.pop(process_id, None)
            if started is None or self._stopping:
                continue
            now = time.monotonic()
            if now - started > _STABLE_SECONDS:
                self._backoff_seconds = 0.0
            self._next_start = now + self._backoff_seconds
            _log.error(
                "worker_died", pid=process_id, status=os.waitstatus_to_exitcode(status), again_in=self._backoff_seconds
            )
            self._backoff_seconds = min(max(2 * self._backoff_seconds, 0.2), _LONGEST_BACKOFF_SECONDS)

    def _end(self) -> None:
        deadline = time.monotonic() + self._stop_seconds
        self._signal(signal.SIGTERM)
        while self._running and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            self._reap()
        self._signal(signal.SIGKILL)
        for process_id in self._running:
            with suppress(ChildProcessError):
                os.waitpid(process_id, 0)

    def _signal(self, number: signal.Signals) -> None:
        for process_id in self._running:
            with suppress(ProcessLookupError):
                os.kill(process_id, number)


def _die_with(parent: int) -> None:
    """Have the kernel end this process when ``parent`` dies, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it died before the kernel was asked
