"""Captured traffic of one proxy process, put together: the queue, the spool that it writes, the masker beside it."""

from contextlib import AsyncExitStack

import structlog

from addons.metrics import CAPTURES_LOST
from headgate.kernel.clock import Clock
from headgate.kernel.tasks import TaskSet
from headgate.traffic.model import Loss
from headgate.traffic.spool_writer import SpoolWriter
from headgate.vault.service import Vault
from proxy.capture_queue import CaptureQueue
from proxy.masker_process import MaskerProcess
from proxy.settings import GateSettings

_log = structlog.get_logger(__name__)


def open_captures(settings: GateSettings, vault: Vault, clock: Clock, stack: AsyncExitStack) -> CaptureQueue:
    """Where captured traffic goes, with the loop that writes it and the process that masks it."""
    folder = settings.data.captures
    writer = SpoolWriter(folder, vault, clock, limit_bytes=settings.capture_spool_limit_bytes, lost=_count_lost)
    queue = CaptureQueue(writer)
    masker = MaskerProcess(folder, lambda: queue.is_used)
    tasks = TaskSet(lambda name, error: _log.critical("proxy_loop_ended", loop=name, error=repr(error)))
    stack.push_async_callback(masker.close)
    stack.push_async_callback(queue.close)
    stack.push_async_callback(tasks.close)
    tasks.start(queue.keep_writing(), name="captures")
    tasks.start(masker.keep_running(), name="masker")
    return queue


def _count_lost(cause: Loss, exchanges: int) -> None:
    CAPTURES_LOST.labels(cause.value).inc(exchanges)
