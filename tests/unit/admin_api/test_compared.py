"""A unified diff as two columns."""

import difflib

import pytest

from admin_api.web.compared import Row, side_by_side


@pytest.mark.parametrize(
    ("left", "right", "rows"),
    [
        (["a", "b"], ["a", "c"], [("a", "a", False), ("b", "c", True)]),
        (["a"], ["a", "b"], [("a", "a", False), (None, "b", True)]),
        (["a", "b", "c"], ["c"], [("a", None, True), ("b", None, True), ("c", "c", False)]),
        (["-x", "+y"], ["@z", ""], [("-x", "@z", True), ("+y", "", True)]),
    ],
)
def test_rows(left: list[str], right: list[str], rows: list[tuple[str | None, str | None, bool]]) -> None:
    diff = "\n".join(difflib.unified_diff(left, right, "left", "right", lineterm="", n=3))
    found = side_by_side(diff)
    assert found[0].is_break
    assert list(found[1:]) == [Row(*one) for one in rows]
