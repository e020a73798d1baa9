"""Headgate's own objectives, and how each is counted from the metrics that there are."""

from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client.metrics_core import Metric

from admin_api.services.slo import Counts, Objective

API_AVAILABILITY: Final = Objective("api_availability", "API requests with a response status below 500.", 0.999)
API_LATENCY: Final = Objective("api_latency", "API requests that cannot wait, answered within 250 ms.", 0.99)
GATE_LATENCY: Final = Objective("gate_latency", "Calls decided and recorded within 100 ms.", 0.99)
GATE_INTEGRITY: Final = Objective(
    "gate_integrity", "Calls through the proxy without a failed hook. A failed hook refuses the call.", 0.9999
)
RECORD_LATENCY: Final = Objective("record_latency", "Commits of actions within 100 ms.", 0.999)

OBJECTIVES: Final = (API_AVAILABILITY, API_LATENCY, GATE_LATENCY, GATE_INTEGRITY, RECORD_LATENCY)

# They answer when a person has decided, or when a replay is through.
_MAY_WAIT: Final = frozenset({"/v1/actions/{id}", "/admin/policies/replay"})


def count_objectives(metrics: Iterable[Metric]) -> Mapping[str, Counts]:
    """Every objective's counts, of all processes whose metrics these are."""
    found = {metric.name: metric for metric in metrics}
    requests = [
        (labels, value)
        for labels, value in _samples(found, "headgate_api_requests", "headgate_api_requests_total")
        if not _is_probe(labels)
    ]
    answered = sum(value for _, value in requests)
    failed = sum(value for labels, value in requests if labels["status"] >= "500")
    decided = sum(value for _, value in _samples(found, "headgate_proxy_decisions", "headgate_proxy_decisions_total"))
    broken = sum(value for _, value in _samples(found, "headgate_gate_failures", "headgate_gate_failures_total"))
    batches = [
        _within(found, name, "0.1") for name in ("headgate_api_record_batch_seconds", "headgate_record_batch_seconds")
    ]
    return {
        API_AVAILABILITY.name: Counts(answered - failed, answered),
        API_LATENCY.name: _within(found, "headgate_api_request_seconds", "0.25", without_routes=_MAY_WAIT),
        GATE_LATENCY.name: _within(found, "headgate_proxy_stage_seconds", "0.1", stage="admit"),
        GATE_INTEGRITY.name: Counts(decided, decided + broken),
        RECORD_LATENCY.name: Counts(sum(one.good for one in batches), sum(one.total for one in batches)),
    }


def _is_probe(labels: Mapping[str, str]) -> bool:
    """Whoever polls often would drown everybody else's failures."""
    return labels.get("route", "").startswith(("/health", "/ready"))


def _within(
    found: Mapping[str, Metric],
    name: str,
    bucket: str,
    *,
    without_routes: frozenset[str] = frozenset(),
    stage: str | None = None,
) -> Counts:
    """Of a histogram: the observations up to this bucket's bound, and all."""

    def counted(suffix: str, bound: str | None) -> float:
        return sum(
            value
            for labels, value in _samples(found, name, f"{name}_{suffix}")
            if labels.get("route") not in without_routes
            and not _is_probe(labels)
            and (stage is None or labels.get("stage") == stage)
            and (bound is None or labels["le"] == bound)
        )

    return Counts(counted("bucket", bucket), counted("count", None))


def _samples(found: Mapping[str, Metric], name: str, sample_name: str) -> list[tuple[dict[str, str], float]]:
    metric = found.get(name)
    return [] if metric is None else [(one.labels, one.value) for one in metric.samples if one.name == sample_name]
