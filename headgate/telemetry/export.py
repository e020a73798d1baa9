"""Opens the way from a process to a collector: three exporters over OTLP/HTTP, each with a thread of its own.

Nothing of it is on the way of a request: spans and log lines go into bounded queues, and a collector that is slow or
gone costs the telemetry and nothing else. What the SDK reads of the environment by itself (``OTEL_…``) applies:
resource attributes, the sampler, limits of spans, time-outs, compression and certificates of the export.
"""

import os
from typing import Final
from uuid import uuid4

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import Tracer
from prometheus_client import REGISTRY

from headgate.configuration.logs import also_log_to
from headgate.telemetry.batches import Batches
from headgate.telemetry.log_lines import LogLines
from headgate.telemetry.metrics import MetricExports
from headgate.telemetry.settings import TelemetrySettings

_CLOSE_SECONDS: Final = 3.0
_METRICS_SECONDS: Final = 60.0


class Telemetry:
    """Of one process, from its start to its end."""

    def __init__(self, settings: TelemetrySettings) -> None:
        resource = Resource.create(
            {
                "service.name": f"headgate-{settings.part}",
                "service.version": settings.version,
                "service.instance.id": str(uuid4()),
            }
        )
        base = settings.endpoint.rstrip("/")
        headers = _headers(settings)
        spans = OTLPSpanExporter(f"{base}/v1/traces", headers=headers)
        lines = OTLPLogExporter(f"{base}/v1/logs", headers=headers)
        self._spans = Batches[ReadableSpan]("spans", lambda batch: spans.export(batch) is SpanExportResult.SUCCESS)
        self._lines = Batches[ReadableLogRecord](
            "logs", lambda batch: lines.export(batch) is LogRecordExportResult.SUCCESS
        )
        interval = float(os.environ.get("OTEL_METRIC_EXPORT_INTERVAL") or _METRICS_SECONDS * 1000) / 1000
        metrics = OTLPMetricExporter(f"{base}/v1/metrics", headers=headers)
        self._metrics = MetricExports(REGISTRY, metrics, resource, interval)
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(_IntoQueue(self._spans))
        self._stop_logging = also_log_to(LogLines(self._lines.put, resource))

    @property
    def tracer(self) -> Tracer:
        return self._provider.get_tracer("headgate")

    def close(self) -> None:
        """Hands over what waits, for a few seconds at most."""
        self._stop_logging()
        for one in (self._spans, self._lines, self._metrics):
            one.close(_CLOSE_SECONDS)


class _IntoQueue(SpanProcessor):
    def __init__(self, spans: Batches[ReadableSpan]) -> None:
        self._spans = spans

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Nothing: a span is exported when it has ended."""

    def on_end(self, span: ReadableSpan) -> None:
        if span.context is not None and span.context.trace_flags.sampled:
            self._spans.put(span)


def _headers(settings: TelemetrySettings) -> dict[str, str]:
    text = "" if settings.headers is None else settings.headers.reveal()
    pairs = (one.partition("=") for one in text.split(",") if "=" in one)
    return {name.strip(): value.strip() for name, _, value in pairs}
