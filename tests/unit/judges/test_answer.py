"""One form of answer, and nothing that only resembles it."""

import json
import time

import pytest

from headgate.judges.answer import parse_judgement
from headgate.judges.model import Failure, JudgeError

_ANSWER = {"flagged": False, "risk_score": 0, "confidence": 1, "detected_issues": ["a", "a", "b"], "reasoning": "fine"}
_TEXT = json.dumps(_ANSWER)


@pytest.mark.parametrize("text", [_TEXT, f" \n{_TEXT}\n", f"```json\n{_TEXT}\n```", f"```\n{_TEXT}\n```\n"])
def test_the_object_counts_with_or_without_a_fence(text: str) -> None:
    judgement = parse_judgement(text)

    assert (judgement.flagged, judgement.risk_score, judgement.confidence) == (False, 0.0, 1.0)
    assert judgement.detected_issues == ("a", "b")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "```",
        "``````",
        f"Here it is:\n{_TEXT}",
        f"{_TEXT}\nI hope this helps.",
        _TEXT[:-1],
        _TEXT[:-1] + ', "risk_score": 1}',
        json.dumps([_ANSWER]),
        json.dumps({**_ANSWER, "detected_issues": ["x"] * 51}),
        json.dumps({**_ANSWER, "detected_issues": ["x" * 101]}),
        json.dumps({**_ANSWER, "detected_issues": [""]}),
        json.dumps({**_ANSWER, "reasoning": "x" * 4001}),
        json.dumps({**_ANSWER, "reasoning": None}),
        json.dumps({**_ANSWER, "flagged": 0}),
        json.dumps({**_ANSWER, "confidence": -0.1}),
        _TEXT.replace("fine", "\\ud800"),
    ],
)
def test_everything_else_is_malformed_and_not_repeated(text: str) -> None:
    with pytest.raises(JudgeError) as caught:
        parse_judgement(text)

    assert caught.value.failure is Failure.MALFORMED_ANSWER
    assert "hope" not in caught.value.message


@pytest.mark.parametrize("text", ["```" + "\n" * 200_000, "\n" * 200_000 + "```", "```json\n" * 30_000, "[" * 200_000])
def test_a_hostile_answer_costs_no_time(text: str) -> None:
    started = time.thread_time()
    with pytest.raises(JudgeError):
        parse_judgement(text)

    assert time.thread_time() - started < 0.2
