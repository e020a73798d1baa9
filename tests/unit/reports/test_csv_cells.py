"""No cell of a report runs in a spreadsheet, whatever stands before its formula."""

import pytest

from headgate.kernel.visible_text import visible
from headgate.reports.csv_writer import _cell


@pytest.mark.parametrize("before", ["", " ", "\u00a0", "\ufeff", "\x0b", "\u3000", "\u200b", "'", '"', "\x00"])
@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@a", "|calc", "%a", "\uff1d1"])
def test_a_formula_is_text(before: str, formula: str) -> None:
    assert _cell(before + formula) == "'" + visible(before) + formula


@pytest.mark.parametrize("text", ["", "a=b", "ada@example.com", "2026-11-21", "1-2"])
def test_other_text_stays(text: str) -> None:
    assert _cell(text) == text


@pytest.mark.parametrize("hidden", ["\x1b", "\r", "\u202e", "\u200b", "\u2028"])
def test_what_is_hidden_is_written_out(hidden: str) -> None:
    assert _cell(f"a{hidden}b\nc") == f"a\\u{{{ord(hidden):x}}}b\nc"
