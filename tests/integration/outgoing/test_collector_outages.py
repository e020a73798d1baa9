"""A collector of telemetry that fails in every way: the exporter's thread continues, dropped batches are counted, and
no file descriptor is left. A dripping collector is left out: the library waits as long as each byte comes in time."""

import asyncio
import logging
import threading
from collections.abc import Sequence

import pytest
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource

from headgate.telemetry.batches import DROPPED, Batches
from headgate.telemetry.log_lines import LogLines
from tests.integration.outgoing.outage import Outage, failing_server, files_left, open_files

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_DEADLINE_SECONDS = 0.4


def _failed(signal: str) -> float:
    return float(DROPPED.labels(signal, "failed")._value.get())


@pytest.mark.parametrize("outage", [one for one in Outage if one not in (Outage.NONE, Outage.DRIP)])
async def test_a_collector_is_used_again_once_it_answers(outage: Outage) -> None:
    signal = f"logs, {outage}"
    handed_over = threading.Semaphore(0)
    async with failing_server(_ANSWER) as server:
        exporter = OTLPLogExporter(f"http://127.0.0.1:{server.port}/v1/logs", timeout=_DEADLINE_SECONDS)

        def export(batch: Sequence[ReadableLogRecord]) -> bool:
            try:
                return exporter.export(batch) is LogRecordExportResult.SUCCESS
            finally:
                handed_over.release()

        batches = Batches[ReadableLogRecord](signal, export)
        lines = LogLines(batches.put, Resource.create())

        async def sent() -> None:
            lines.handle(logging.LogRecord("headgate", logging.INFO, "", 0, "hello", (), None))
            assert await asyncio.to_thread(handed_over.acquire, timeout=10)

        await sent()
        before = open_files()
        for round_number in (1, 2):
            await server.fail(outage)
            await sent()
            await server.fail(Outage.NONE)
            await sent()
            assert not await files_left(before)
            # Half an answer has its status: the library is content with that.
            assert _failed(signal) == (0 if outage in (Outage.HALF_HEAD, Outage.HALF_BODY) else round_number)
        await asyncio.to_thread(batches.close, 10)
