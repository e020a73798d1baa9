"""Log lines on their way to a collector: the same lines as on standard error, masked by the same processors."""

import logging
import time
from collections.abc import Callable
from typing import Final

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

_OF_THE_EXPORT: Final = ("opentelemetry", "urllib3", "requests")
"""Their lines would make lines about lines."""
_SEVERITIES: Final = {
    logging.DEBUG: SeverityNumber.DEBUG,
    logging.INFO: SeverityNumber.INFO,
    logging.WARNING: SeverityNumber.WARN,
    logging.ERROR: SeverityNumber.ERROR,
    logging.CRITICAL: SeverityNumber.FATAL,
}


class LogLines(logging.Handler):
    """Formats a record, and puts it into a queue."""

    def __init__(self, put: Callable[[ReadableLogRecord], None], resource: Resource) -> None:
        super().__init__()
        self._put = put
        self._resource = resource

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] in _OF_THE_EXPORT:
            return
        try:
            text = self.format(record)
        except Exception:  # noqa: BLE001 - as logging's own handlers: a line that cannot be written ends nothing
            self.handleError(record)
            return
        line = LogRecord(
            timestamp=int(record.created * 1e9),
            observed_timestamp=time.time_ns(),
            severity_text=record.levelname,
            severity_number=_SEVERITIES.get(record.levelno, SeverityNumber.UNSPECIFIED),
            body=text,
        )
        self._put(ReadableLogRecord(line, self._resource, InstrumentationScope(record.name)))
