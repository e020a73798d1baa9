"""Burn rates from counts: windows, alerts, and what Headgate counts for each objective."""

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram

from admin_api.services.objectives import OBJECTIVES, count_objectives
from admin_api.services.slo import Counts, Objective, Sample, SloState, status_of

GOAL = Objective("goal", "", 0.999)


def samples(bad_share: float, *, seconds: int, step: int = 10, per_step: float = 1000) -> list[Sample]:
    """One sample each ``step``; the share of bad events is the same all the time."""
    return [
        Sample(float(at), {"goal": Counts(number * per_step * (1 - bad_share), number * per_step)})
        for number, at in enumerate(range(0, seconds + 1, step))
    ]


@pytest.mark.parametrize(
    ("bad_share", "seconds", "state"),
    [
        (0.0, 21_600, SloState.OK),
        (0.001, 21_600, SloState.OK),
        (0.0065, 21_600, SloState.WARNING),
        (0.015, 21_600, SloState.CRITICAL),
        (0.015, 0, SloState.OK),
    ],
)
def test_states(bad_share: float, seconds: int, state: SloState) -> None:
    status = status_of(GOAL, samples(bad_share, seconds=seconds))
    assert status.state is state
    if seconds:
        assert status.burns["1h"].burn_rate == pytest.approx(bad_share / 0.001, abs=0.01)
        assert {name: burn.covered_seconds for name, burn in status.burns.items()} == {
            "5m": 300, "30m": 1800, "1h": 3600, "6h": 21_600,
        }  # fmt: skip


def test_what_is_over_alarms_no_more_and_what_has_begun_not_yet() -> None:
    good, bad = samples(0.0, seconds=3600), samples(0.02, seconds=3000)
    over = [*bad, *(Sample(3000 + one.at + 10, {"goal": _plus(bad[-1], one)}) for one in good[1:60])]
    assert status_of(GOAL, over).burns["5m"].burn_rate == pytest.approx(0, abs=0.01)
    assert status_of(GOAL, over).state is not SloState.CRITICAL


def test_a_young_process_says_what_it_covers() -> None:
    status = status_of(GOAL, samples(0.5, seconds=50))
    assert {burn.covered_seconds for burn in status.burns.values()} == {50}


def test_objectives_are_counted_from_the_metrics() -> None:
    registry = CollectorRegistry()
    requests = Counter("headgate_api_requests", "", ["method", "route", "status"], registry=registry)
    seconds = Histogram(
        "headgate_api_request_seconds", "", ["method", "route"], buckets=(0.125, 0.25, 1), registry=registry
    )
    stage = Histogram("headgate_proxy_stage_seconds", "", ["stage"], buckets=(0.1, 1), registry=registry)
    decisions = Counter("headgate_proxy_decisions", "", ["decision"], registry=registry)
    failures = Counter("headgate_gate_failures", "", ["hook"], registry=registry)
    for status, count in (("200", 90), ("404", 5), ("500", 3), ("503", 2)):
        requests.labels("GET", "/admin/keys", status).inc(count)
    requests.labels("GET", "/health/ready", "503").inc(1000)
    for route, took in (("/admin/keys", 0.2), ("/admin/keys", 0.9), ("/v1/actions/{id}", 30), ("/health", 9)):
        seconds.labels("GET", route).observe(took)
    for name, took in (("admit", 0.05), ("admit", 0.5), ("held", 50)):
        stage.labels(name).observe(took)
    decisions.labels("allow").inc(9)
    failures.labels("request").inc(1)
    counted = count_objectives(registry.collect())
    assert set(counted) == {objective.name for objective in OBJECTIVES}
    assert counted["api_availability"] == Counts(95, 100)
    assert counted["api_latency"] == Counts(1, 2)
    assert counted["gate_latency"] == Counts(1, 2)
    assert counted["gate_integrity"] == Counts(9, 10)
    assert counted["record_latency"] == Counts(0, 0)


def _plus(sample: Sample, more: Sample) -> Counts:
    one, other = sample.counts["goal"], more.counts["goal"]
    return Counts(one.good + other.good, one.total + other.total)
