"""What a spreadsheet would take for a formula, whatever stands before it."""

import pytest

from headgate.kernel.spreadsheet import is_formula

_SKIPPED = ["", " ", "\t", "\r", "\u00a0", "\ufeff", "\x0b", "\u3000", "\u200b", "'", '"', "\x00"]


@pytest.mark.parametrize("before", _SKIPPED, ids=ascii)
@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "|calc", "%a", "\uff1d1+1", "\uff20x"], ids=ascii)
def test_formulas(before: str, formula: str) -> None:
    assert is_formula(before + formula)


@pytest.mark.parametrize("text", ["\t1", "\r1", "\n", "\x00"], ids=ascii)
def test_what_is_taken_away_before_anybody_looks(text: str) -> None:
    assert is_formula(text)


@pytest.mark.parametrize(
    "text", ["", "act_1-2", "2026-11-21T10:00:00Z", '{"a":"=1"}', "alice@example.com", "a=b", "1-2"], ids=ascii
)
def test_other_text(text: str) -> None:
    assert not is_formula(text)
