"""What is read back of a decision's record, and what is not taken for a verdict."""

from typing import Any

import pytest

from headgate.nlp_policies.recall import RecalledVerdict, recalled_verdicts

_ENTRY: dict[str, Any] = {
    "policy_id": "nlp_1",
    "outcome": "clear",
    "question": "ab12",
    "score": 0.1,
    "confidence": 1,
    "issues": ["a"],
    "reasoning": "fine",
}


def test_a_verdict_is_found_by_its_question() -> None:
    assert recalled_verdicts({"nlp": [_ENTRY]}) == {"ab12": RecalledVerdict(0.1, 1.0, ("a",), "fine")}


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "error"},
        {"outcome": None},
        {"question": None},
        {"score": 1.1},
        {"score": True},
        {"score": "0"},
        {"confidence": None},
        {"issues": "a"},
        {"reasoning": 3},
    ],
)
def test_what_is_no_verdict_is_asked_again(change: dict[str, Any]) -> None:
    assert recalled_verdicts({"nlp": [_ENTRY | change]}) == {}


@pytest.mark.parametrize("decision", [{}, {"nlp": None}, {"nlp": {}}, {"nlp": [None, 1, []]}])
def test_a_decision_without_such_entries_recalls_nothing(decision: dict[str, Any]) -> None:
    assert recalled_verdicts(decision) == {}
