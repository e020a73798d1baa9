"""Cells that a spreadsheet must not run."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.audit.export_formats import _cell, _line


@pytest.mark.parametrize(("text", "cell"), [("=1+1", "'=1+1"), ("|calc", "'|calc"), ("a=b", "a=b"), ("", "")])
def test_a_formula_begins_with_an_apostrophe(text: str, cell: str) -> None:
    assert _cell(text) == cell


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8")), min_size=1, max_size=5))
def test_a_reader_gets_back_what_was_written(cells: list[str]) -> None:
    written = _line([_cell(cell) for cell in cells]).decode()
    (row,) = csv.reader(io.StringIO(written, newline=""))
    assert row == [_cell(cell) for cell in cells]
