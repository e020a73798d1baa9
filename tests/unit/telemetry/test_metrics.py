"""Prometheus' families as OTLP's metrics."""

from opentelemetry.sdk.metrics.export import Gauge as OtlpGauge
from opentelemetry.sdk.metrics.export import Histogram as OtlpHistogram
from opentelemetry.sdk.metrics.export import Sum
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from headgate.telemetry.metrics import metrics_of


def test_counters_gauges_and_histograms() -> None:
    registry = CollectorRegistry()
    Counter("calls", "Calls.", ["decision"], registry=registry).labels("allow").inc(3)
    Gauge("held", "Held.", registry=registry).set(2)
    histogram = Histogram("seconds", "Seconds.", ["stage"], buckets=(0.1, 1), registry=registry)
    for value in (0.05, 0.5, 0.6, 5):
        histogram.labels("admit").observe(value)
    found = {one.name: one for one in metrics_of(registry.collect(), 1, 2)}
    calls, held, seconds = found["calls"].data, found["held"].data, found["seconds"].data
    assert isinstance(calls, Sum) and calls.is_monotonic
    [point] = calls.data_points
    assert (dict(point.attributes or {}), point.value) == ({"decision": "allow"}, 3)
    assert isinstance(held, OtlpGauge)
    assert [one.value for one in held.data_points] == [2]
    assert isinstance(seconds, OtlpHistogram)
    [distribution] = seconds.data_points
    assert dict(distribution.attributes or {}) == {"stage": "admit"}
    assert list(distribution.bucket_counts) == [1, 2, 1]
    assert list(distribution.explicit_bounds) == [0.1, 1]
    assert (distribution.count, distribution.sum) == (4, 6.15)
