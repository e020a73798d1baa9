"""How well a policy tells what it should from what it should not: counted over labelled contents."""

import statistics
from collections.abc import Sequence

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.nlp_policies.model import Outcome


class LabelledContent(Struct, frozen=True):
    """``expected`` is match or clear."""

    content: str
    expected: Outcome


class Answer(Struct, frozen=True):
    """What the policy said about one of them. ``cost_usd`` None: unknown."""

    expected: Outcome
    outcome: Outcome
    latency_ms: float
    cost_usd: float | None = None


class Report(Struct, frozen=True):
    """Errors are neither right nor wrong, and counted apart: a judge that does not answer proves nothing."""

    answers: tuple[Answer, ...]

    def count(self, expected: Outcome, outcome: Outcome) -> int:
        return sum(one.expected is expected and one.outcome is outcome for one in self.answers)

    @property
    def true_positives(self) -> int:
        return self.count(Outcome.MATCH, Outcome.MATCH)

    @property
    def false_positives(self) -> int:
        return self.count(Outcome.CLEAR, Outcome.MATCH)

    @property
    def false_negatives(self) -> int:
        return self.count(Outcome.MATCH, Outcome.CLEAR)

    @property
    def true_negatives(self) -> int:
        return self.count(Outcome.CLEAR, Outcome.CLEAR)

    @property
    def errors(self) -> int:
        return sum(one.outcome is Outcome.ERROR for one in self.answers)

    @property
    def precision(self) -> float | None:
        """None where nothing matched."""
        return _share(self.true_positives, self.false_positives)

    @property
    def recall(self) -> float | None:
        """None where nothing should have matched."""
        return _share(self.true_positives, self.false_negatives)

    @property
    def f1(self) -> float | None:
        precision, recall = self.precision, self.recall
        if precision is None or recall is None:
            return None
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    @property
    def cost_usd(self) -> float | None:
        """None where one of them is unknown."""
        costs = [one.cost_usd for one in self.answers if one.cost_usd is not None]
        return sum(costs) if len(costs) == len(self.answers) else None

    def latency_ms(self, percent: int) -> float:
        latencies = sorted(one.latency_ms for one in self.answers)
        if len(latencies) < 2:
            return latencies[0] if latencies else 0.0
        return statistics.quantiles(latencies, n=100, method="inclusive")[percent - 1]

    def record(self) -> JsonObject:
        return {
            "contents": len(self.answers),
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "confusion": {
                "true_positives": self.true_positives,
                "false_positives": self.false_positives,
                "false_negatives": self.false_negatives,
                "true_negatives": self.true_negatives,
                "errors": self.errors,
            },
            "latency_ms": {"p50": self.latency_ms(50), "p95": self.latency_ms(95)},
            "cost_usd": self.cost_usd,
        }


def parse_labelled(text: str) -> Sequence[LabelledContent]:
    """JSON Lines of ``{"content": …, "expected": "match" | "clear"}``. Raises ValidationError, which names the line."""
    found: list[LabelledContent] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(_labelled(parse_strict(line.encode("utf-8", "replace"))))
            except ValidationError as error:
                raise ValidationError(f"line {number}: {error.message}", details={"line": number}) from error
    if not found:
        raise ValidationError("there is no content in the file")
    return found


def _labelled(value: JsonValue) -> LabelledContent:
    if not isinstance(value, dict) or set(value) != {"content", "expected"}:
        raise ValidationError("an object with content and expected is required")
    content, expected = value["content"], value["expected"]
    if not isinstance(content, str) or expected not in (Outcome.MATCH.value, Outcome.CLEAR.value):
        raise ValidationError("content is a text, and expected is match or clear")
    return LabelledContent(content, Outcome(str(expected)))


def _share(right: int, wrong: int) -> float | None:
    return right / (right + wrong) if right + wrong else None
