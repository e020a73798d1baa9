"""What outputs mean."""

import math

import pytest

from headgate.classifiers.model import Activation, ClassifierSettings, classification, scores_of
from headgate.judges.model import JudgeError

SOFTMAX = ClassifierSettings(("benign", "injection", "jailbreak"), ("injection", "jailbreak"), Activation.SOFTMAX, 8, 0)
SIGMOID = ClassifierSettings(("toxic", "threat"), ("toxic", "threat"), Activation.SIGMOID, 8, 0)


def test_labels_that_exclude_each_other_are_added_up() -> None:
    said = classification([[0.0, 0.0, 0.0]], SOFTMAX, "d")
    assert said.risk_score == pytest.approx(2 / 3, abs=1e-4)


def test_labels_by_themselves_are_not() -> None:
    said = classification([[0.0, -20.0]], SIGMOID, "d")
    assert said.risk_score == 0.5
    assert said.issues(0.4) == ("toxic",)


def test_the_worst_window_counts_and_names_its_label() -> None:
    said = classification([[9.0, 0.0, 0.0], [0.0, 1.0, 9.0], [9.0, 0.0, 0.0]], SOFTMAX, "d")
    assert said.risk_score > 0.99
    assert said.issues(0.7) == ("jailbreak",)
    assert said.windows == 3


def test_a_match_has_a_name_though_no_label_alone_reaches_the_threshold() -> None:
    said = classification([[0.0, 2.0, 2.1]], SOFTMAX, "d")
    assert said.risk_score >= 0.9
    assert said.issues(0.9) == ("jailbreak",)


@pytest.mark.parametrize("outputs", [[math.nan, 0.0, 0.0], [math.inf, 0.0, 0.0]])
def test_what_is_no_number_is_no_score(outputs: list[float]) -> None:
    with pytest.raises(JudgeError, match="finite"):
        classification([outputs], SOFTMAX, "d")


@pytest.mark.parametrize("activation", Activation)
def test_large_outputs_do_not_overflow(activation: Activation) -> None:
    assert all(0 <= one <= 1 for one in scores_of([1e6, -1e6, 0.0], activation))
