"""What the API counts. Names and meanings are documented in docs/reference/metrics.md, which a test compares."""

from typing import Final

from prometheus_client import Counter, Histogram

from headgate.nlp_policies.model import NlpResult

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
    "Requests refused with 401, by what was presented: none, several, key, token.",
    ["credential"],
)
FORBIDDEN: Final = Counter(
    "headgate_api_forbidden", "Requests refused with 403 for a missing scope, by the scope.", ["scope"]
)
RATE_LIMITED: Final = Counter("headgate_api_rate_limited", "Requests refused with 429, by rate class.", ["rate_class"])
DECISIONS: Final = Counter(
    "headgate_api_decisions", "Explicit actions by what was decided: allow, deny, require_approval.", ["decision"]
)
NLP_RESULTS: Final = Counter(
    "headgate_api_nlp_results", "What NLP policies said here: clear, match, or the name of an error.", ["outcome"]
)
NLP_SECONDS: Final = Histogram(
    "headgate_api_nlp_seconds",
    "Time that one NLP policy took for one content, here.",
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 3, 5),
)
BATCH_ROWS: Final = Histogram(
    "headgate_api_record_batch_rows",
    "Actions that one commit made durable.",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 512),
)
BATCH_SECONDS: Final = Histogram(
    "headgate_api_record_batch_seconds",
    "Time that one such commit took.",
    buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1),
)
SHADOW_VERDICTS: Final = Counter(
    "headgate_api_shadow_verdicts",
    "What shadow policies said of explicit actions (none: nothing), beside what was decided; dropped: not asked.",
    ["said", "decided"],
)


def observe_shadow(said: str, decided: str) -> None:
    """A ``headgate.workflows.shadow_calls.ShadowObserver``."""
    SHADOW_VERDICTS.labels(said, decided).inc()


def observe_nlp(result: NlpResult) -> None:
    """For the evaluator of NLP policies."""
    NLP_RESULTS.labels(result.error or result.outcome.value).inc()
    NLP_SECONDS.observe(result.latency_ms / 1000)


def observe_batch(*, rows: int, seconds: float) -> None:
    """For the recorder."""
    BATCH_ROWS.observe(rows)
    BATCH_SECONDS.observe(seconds)
