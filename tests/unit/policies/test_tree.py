"""Columns are those of the text as written: a tab is one character."""

import pytest

from headgate.policies.compile import PolicyRefusedError, compile_policy
from headgate.policies.tree import character_column


@pytest.mark.parametrize(
    ("line", "engine_column", "column"),
    [
        ("allow if x", 7, 7),
        ("\tx = = 1", 9, 6),
        ("\t\tx", 9, 3),
        ("x\t= = 1", 8, 5),
        ("\tx", 6, 3),  # just behind the end
        ("", 1, 1),
    ],
)
def test_a_tab_counts_as_one_character(line: str, engine_column: int, column: int) -> None:
    assert character_column(line, engine_column) == column


@pytest.mark.parametrize("indentation", ["\t", "    ", "\t\t", " \t"])
def test_a_complaint_points_at_what_it_is_about(indentation: str) -> None:
    line = f'{indentation}input.tool = = "a"'
    with pytest.raises(PolicyRefusedError) as refused:
        compile_policy(f"package t\n\ndeny if {{\n{line}\n}}\n", b"{}")
    details = refused.value.details or {}
    assert details["source"] == line
    assert isinstance(details["column"], int)
    assert line[details["column"] - 1 :] == '= "a"'
