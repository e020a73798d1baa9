"""What an evaluation counts."""

import json

import pytest

from headgate.kernel.errors import ValidationError
from headgate.nlp_policies.model import Outcome
from headgate.nlp_policies.report import Answer, Report, parse_labelled

_M, _C, _E = Outcome.MATCH, Outcome.CLEAR, Outcome.ERROR


def test_precision_recall_and_what_they_cost() -> None:
    pairs = [(_M, _M), (_M, _M), (_M, _C), (_C, _M), (_C, _C), (_M, _E), (_C, _E)]
    report = Report(tuple(Answer(expected, outcome, 10.0 * n, 0.5) for n, (expected, outcome) in enumerate(pairs)))

    assert (report.precision, report.recall) == (2 / 3, 2 / 3)
    assert report.f1 == pytest.approx(2 / 3)
    assert report.errors == 2
    assert report.cost_usd == 3.5
    assert report.latency_ms(50) == 30.0
    assert report.record()["confusion"] == {
        "true_positives": 2, "false_positives": 1, "false_negatives": 1, "true_negatives": 1, "errors": 2,
    }  # fmt: skip


def test_what_cannot_be_told_is_not_told() -> None:
    nothing = Report((Answer(_C, _C, 1.0, None),))

    assert (nothing.precision, nothing.recall, nothing.f1, nothing.cost_usd) == (None, None, None, None)
    assert nothing.latency_ms(95) == 1.0
    wrong = Report((Answer(_C, _M, 1.0), Answer(_M, _C, 1.0)))
    assert wrong.f1 == 0.0


def test_a_file_of_contents() -> None:
    text = '{"content": "a", "expected": "match"}\n\n{"content": "b", "expected": "clear"}\n'

    assert [(one.content, one.expected) for one in parse_labelled(text)] == [("a", _M), ("b", _C)]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "nonsense",
        '{"content": "a"}',
        '{"content": 1, "expected": "match"}',
        '{"content": "a", "expected": "error"}',
        '{"content": "a", "content": "b", "expected": "match"}',
        json.dumps({"content": "a", "expected": "match", "more": 1}),
    ],
)
def test_a_line_of_another_form_is_named(line: str) -> None:
    with pytest.raises(ValidationError):
        parse_labelled(line)
