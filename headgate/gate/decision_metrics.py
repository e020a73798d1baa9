"""Metrics of decisions and records, which the API and the proxy count under names of their own.

docs/reference/metrics.md defines the names; a test compares.
"""

from typing import Final

from prometheus_client import Counter, Histogram

from headgate.nlp_policies.model import NlpResult

_NLP_BUCKETS_SECONDS: Final = (0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 3, 5)
_BATCH_BUCKETS_ROWS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_BATCH_BUCKETS_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1)


class PolicyMetrics:
    """What NLP and shadow policies said. ``calls``: how people call those that this part decides."""

    def __init__(self, prefix: str, calls: str) -> None:
        self._nlp_results = Counter(
            f"{prefix}_nlp_results", "What NLP policies said: clear, match, or the name of an error.", ["outcome"]
        )
        self._nlp_seconds = Histogram(
            f"{prefix}_nlp_seconds",
            "Time that one NLP policy took for one content.",
            buckets=_NLP_BUCKETS_SECONDS,
        )
        self._shadow_verdicts = Counter(
            f"{prefix}_shadow_verdicts",
            f"What shadow policies said of {calls} (none: nothing), beside what was decided; dropped: not asked.",
            ["said", "decided"],
        )

    def observe_nlp(self, result: NlpResult) -> None:
        """For the evaluator of NLP policies."""
        self._nlp_results.labels(result.error or result.outcome.value).inc()
        self._nlp_seconds.observe(result.latency_ms / 1000)

    def observe_shadow(self, said: str, decided: str) -> None:
        """A ``headgate.gate.shadow_calls.ShadowObserver``."""
        self._shadow_verdicts.labels(said, decided).inc()


def batch_histograms(prefix: str) -> tuple[Histogram, Histogram]:
    """Rows and seconds, for a ``headgate.db.group_commit.BatchObserver``."""
    return (
        Histogram(f"{prefix}_record_batch_rows", "Actions that shared one commit.", buckets=_BATCH_BUCKETS_ROWS),
        Histogram(
            f"{prefix}_record_batch_seconds",
            "From sending a batch of records to its commit.",
            buckets=_BATCH_BUCKETS_SECONDS,
        ),
    )
