"""What the data plane counts; names and meanings are in docs/reference/metrics.md."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from addons.tally import TalliedCounter, TalliedHistogram
from headgate.gate.decision_metrics import PolicyMetrics, batch_histograms
from headgate.policies.model import Decision

DECISIONS: Final = Counter(
    "headgate_proxy_decisions",
    "Intercepted calls by what became of them: allow, approved, action_denied, approval_denied, approval_pending.",
    ["decision"],
)
REFUSALS: Final = Counter(
    "headgate_proxy_refusals",
    "Requests refused before they were actions, by error code.",
    ["code"],
)
ENGINE_SECONDS: Final = Histogram(
    "headgate_engine_seconds",
    "Time that the policies took for one decision.",
    buckets=(0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1),
)
POLICIES: Final = PolicyMetrics("headgate_proxy", "intercepted calls")
STAGE_SECONDS: Final = Histogram(
    "headgate_proxy_stage_seconds",
    "Time a request spends in a stage: interpret (mapping to an action), admit (decide and record),"
    " held (waiting for a human included).",
    ["stage"],
    buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 60),
)
ANSWERS_INSPECTED: Final = Counter(
    "headgate_proxy_answers_inspected",
    "Answers that policies about content looked at, by what became of them: forwarded, withheld.",
    ["outcome"],
)
CAPTURES: Final = Counter("headgate_captures", "Exchanges that were handed over to be masked and kept.")
CAPTURES_LOST: Final = Counter(
    "headgate_captures_lost", "Exchanges that were to be captured and were not, by cause.", ["cause"]
)
CAPTURE_SPOOL_BYTES: Final = Gauge(
    "headgate_capture_spool_bytes",
    "Captured traffic that waits on this machine to be masked; what comes beyond its limit is lost.",
    multiprocess_mode="livemax",
)
HELD: Final = Gauge("headgate_proxy_held_requests", "Requests held at this moment.", multiprocess_mode="livesum")
GATE_FAILURES: Final = Counter(
    "headgate_gate_failures",
    "Hooks that raised, and so refused the request or closed the connection.",
    ["hook"],
)
DESTINATIONS_BLOCKED: Final = Counter(
    "headgate_destinations_blocked",
    "Connections that the SSRF guard did not open, by the kind of the address.",
    ["kind"],
)
BUFFERED_REQUEST_BYTES: Final = Gauge(
    "headgate_request_buffer_bytes",
    "Bytes of request bodies, and of answers that are inspected, that this process holds.",
    multiprocess_mode="livesum",
)
CLIENT_CONNECTIONS: Final = Gauge(
    "headgate_client_connections",
    "Client connections that are open in this process.",
    multiprocess_mode="livesum",
)
_BATCH_ROWS, _BATCH_SECONDS = batch_histograms("headgate")


# What every request counts.
INTERPRET_SECONDS: Final = TalliedHistogram(STAGE_SECONDS.labels("interpret"))
ADMIT_SECONDS: Final = TalliedHistogram(STAGE_SECONDS.labels("admit"))
HELD_SECONDS: Final = TalliedHistogram(STAGE_SECONDS.labels("held"))
ALLOWED: Final = TalliedCounter(DECISIONS.labels("allow"))
APPROVED: Final = TalliedCounter(DECISIONS.labels("approved"))
CAPTURED: Final = TalliedCounter(CAPTURES)
_ENGINE_SECONDS: Final = TalliedHistogram(ENGINE_SECONDS)
_RECORD_BATCH_ROWS: Final = TalliedHistogram(_BATCH_ROWS)
_RECORD_BATCH_SECONDS: Final = TalliedHistogram(_BATCH_SECONDS)

_TALLIES: Final = (
    *(INTERPRET_SECONDS, ADMIT_SECONDS, HELD_SECONDS, ALLOWED, APPROVED, CAPTURED),
    *(_ENGINE_SECONDS, _RECORD_BATCH_ROWS, _RECORD_BATCH_SECONDS),
)


def flush_tallies() -> None:
    """Hand what was counted to Prometheus; for a timer, and for the end of the process."""
    for one in _TALLIES:
        one.flush()


def observe_decision(decision: Decision) -> None:
    """For the decision point."""
    _ENGINE_SECONDS.observe(decision.evaluation_time_ms / 1000)


def observe_batch(*, rows: int, seconds: float) -> None:
    """A ``headgate.db.group_commit.BatchObserver``."""
    _RECORD_BATCH_ROWS.observe(rows)
    _RECORD_BATCH_SECONDS.observe(seconds)
