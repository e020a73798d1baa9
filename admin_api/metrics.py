"""What the API counts. Names and meanings are documented in docs/reference/metrics.md, which a test compares."""

from typing import Final

from prometheus_client import Counter, Histogram

from headgate.gate.decision_metrics import PolicyMetrics, batch_histograms

REQUESTS: Final = Counter(
    "headgate_api_requests",
    "Requests answered, by method, path template and status.",
    ["method", "route", "status"],
)
REQUEST_SECONDS: Final = Histogram(
    "headgate_api_request_seconds",
    "Time from the first byte read to the last byte written, by method and path template.",
    ["method", "route"],
    buckets=(0.001, 0.002, 0.003, 0.005, 0.008, 0.015, 0.03, 0.06, 0.125, 0.25, 0.5, 1, 5, 30, 60),
)
AUTHENTICATION_FAILURES: Final = Counter(
    "headgate_api_authentication_failures",
    "Requests refused with 401, by what was presented: none, several, key, token, session.",
    ["credential"],
)
LOGINS: Final = Counter("headgate_api_logins", "Browser logins that ended, by how: succeeded, failed.", ["outcome"])
FORBIDDEN: Final = Counter(
    "headgate_api_forbidden", "Requests refused with 403 for a missing scope, by the scope.", ["scope"]
)
RATE_LIMITED: Final = Counter("headgate_api_rate_limited", "Requests refused with 429, by rate class.", ["rate_class"])
DECISIONS: Final = Counter(
    "headgate_api_decisions", "Explicit actions by what was decided: allow, deny, require_approval.", ["decision"]
)
FUNNEL_EVENTS: Final = Counter(
    "headgate_api_funnel_events",
    "Sign-up steps that a website reported: signup_started, account_created.",
    ["event"],
)
DEMO_EVALUATIONS: Final = Counter(
    "headgate_api_demo_evaluations", "Demonstrations that were decided, by scenario.", ["scenario"]
)
CSP_REPORTS: Final = Counter(
    "headgate_api_csp_reports",
    "Content security policy violations that browsers reported, by directive and disposition.",
    ["directive", "disposition"],
)
POLICIES: Final = PolicyMetrics("headgate_api", "explicit actions")
_BATCH_ROWS, _BATCH_SECONDS = batch_histograms("headgate_api")


def observe_batch(*, rows: int, seconds: float) -> None:
    """A ``headgate.db.group_commit.BatchObserver``."""
    _BATCH_ROWS.observe(rows)
    _BATCH_SECONDS.observe(seconds)
