"""What a classifier is, and what its scores mean. Frozen types and pure functions."""

import math
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from headgate.judges.model import Failure, JudgeError


class Activation(StrEnum):
    """How the model's outputs (logits) become scores: one label of all, or each label by itself."""

    SOFTMAX = "softmax"
    SIGMOID = "sigmoid"


class ClassifierSettings(Struct, frozen=True):
    """``labels``: of the outputs, in their order. ``match``: those that count. A window has ``max_tokens`` tokens, of
    which it shares ``stride`` with the window before it."""

    labels: tuple[str, ...]
    match: tuple[str, ...]
    activation: Activation
    max_tokens: int
    stride: int


class Classification(Struct, frozen=True):
    """``risk_score``: of the worst window. ``scores``: of each label that counts, its highest, the highest label first.
    ``digest``: of the classifier's files, hexadecimal."""

    risk_score: float
    scores: tuple[tuple[str, float], ...]
    windows: int
    digest: str

    def issues(self, threshold: float) -> tuple[str, ...]:
        """The labels that reach the threshold, or else the highest: a match has a name."""
        reaching = tuple(label for label, score in self.scores if score >= threshold)
        return reaching or (self.scores[0][0],)


def scores_of(outputs: Sequence[float], activation: Activation) -> list[float]:
    """From 0 to 1. Raises JudgeError for outputs that are not finite: NaN compares as below every threshold."""
    if not all(math.isfinite(one) for one in outputs):
        raise JudgeError(Failure.MALFORMED_ANSWER, "the model's output is not a finite number")
    if activation is Activation.SIGMOID:
        return [0.5 * (1 + math.tanh(one / 2)) for one in outputs]  # the logistic function, without overflow
    highest = max(outputs)
    weights = [math.exp(one - highest) for one in outputs]
    return [one / sum(weights) for one in weights]


def classification(windows: Sequence[Sequence[float]], settings: ClassifierSettings, digest: str) -> Classification:
    """``windows``: the outputs of each. Of labels that exclude each other (softmax) those that count are added up.
    Raises JudgeError."""
    risk = 0.0
    best = dict.fromkeys(settings.match, 0.0)
    for outputs in windows:
        by_label = dict(zip(settings.labels, scores_of(outputs, settings.activation), strict=True))
        counted = [by_label[label] for label in settings.match]
        risk = max(risk, sum(counted) if settings.activation is Activation.SOFTMAX else max(counted))
        best = {label: max(score, by_label[label]) for label, score in best.items()}
    ranked = sorted(best.items(), key=lambda entry: -entry[1])
    return Classification(
        risk_score=round(min(1.0, risk), 4),
        scores=tuple((label, round(score, 4)) for label, score in ranked),
        windows=len(windows),
        digest=digest,
    )
