"""The metrics of Prometheus' registry as OTLP's: the names and values of ``/metrics``, of this process alone."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Final

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import CollectorRegistry
from prometheus_client import Metric as Family
from prometheus_client.samples import Sample

_SINCE_START: Final = AggregationTemporality.CUMULATIVE


class MetricExports:
    """Sends the metrics at intervals, in a thread of its own, and once more at the end."""

    def __init__(
        self, registry: CollectorRegistry, exporter: MetricExporter, resource: Resource, interval_seconds: float
    ) -> None:
        self._registry = registry
        self._exporter = exporter
        self._resource = resource
        self._interval_seconds = interval_seconds
        self._start_nano = time.time_ns()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry-metrics", daemon=True)
        self._thread.start()

    def close(self, wait_seconds: float) -> None:
        self._ended.set()
        self._thread.join(wait_seconds)

    def _run(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._ended.wait(self._interval_seconds)
            found = metrics_of(self._registry.collect(), self._start_nano, time.time_ns())
            scope = ScopeMetrics(InstrumentationScope("headgate"), list(found), "")
            # The next export has what this one could not hand over: the values count from the start.
            with suppress(Exception):
                self._exporter.export(MetricsData([ResourceMetrics(self._resource, [scope], "")]))


def metrics_of(families: Iterable[Family], start_nano: int, now_nano: int) -> Iterator[Metric]:
    """Counters as monotonic sums, gauges, and histograms with their buckets."""
    for family in families:
        if family.type == "histogram":
            yield _metric(family, Histogram(list(_histogram_points(family, start_nano, now_nano)), _SINCE_START))
            continue
        name = family.name + ("_total" if family.type == "counter" else "")
        points = [
            NumberDataPoint(one.labels, start_nano, now_nano, one.value)
            for one in family.samples
            if one.name == name and "pid" not in one.labels
        ]
        yield _metric(family, Sum(points, _SINCE_START, True) if family.type == "counter" else Gauge(points))


def _metric(family: Family, data: Sum | Gauge | Histogram) -> Metric:
    return Metric(family.name, family.documentation, None, data)


def _histogram_points(family: Family, start_nano: int, now_nano: int) -> Iterator[HistogramDataPoint]:
    """Buckets of Prometheus count all below their bound; those of OTLP what lies between two bounds."""
    series: dict[frozenset[tuple[str, str]], list[Sample]] = defaultdict(list)
    for sample in family.samples:
        series[frozenset((name, value) for name, value in sample.labels.items() if name != "le")].append(sample)
    for labels, samples in series.items():
        below = sorted((float(one.labels["le"]), one.value) for one in samples if one.name.endswith("_bucket"))
        total = next((one.value for one in samples if one.name.endswith("_sum")), 0.0)
        counts = [int(upper[1] - lower[1]) for lower, upper in pairwise([(0.0, 0.0), *below])]
        attributes: Mapping[str, str] = dict(labels)
        yield HistogramDataPoint(
            attributes, start_nano, now_nano, sum(counts), total, counts, [bound for bound, _ in below[:-1]], 0.0, 0.0
        )
