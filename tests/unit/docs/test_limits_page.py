"""Each documented bound has the value that the code has."""

import importlib
import re
from pathlib import Path

import pytest
from msgspec import Struct, structs

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "limits.md"
ROW = re.compile(r"^\| (?P<bound>[^|]+) \| (?P<value>[\d.]+) [^|]+ \| [^|]+ \| `(?P<constant>[\w.]+:[\w.]+)` \|$", re.M)
ROWS = [(row["constant"], float(row["value"])) for row in ROW.finditer(PAGE.read_text("utf-8"))]


def _value_of(constant: str) -> float:
    """``module:NAME``, or ``module:Class.field`` for the default of a struct's field."""
    module, _, path = constant.partition(":")
    owner = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    if isinstance(owner, type) and issubclass(owner, Struct):
        return float(next(field.default for field in structs.fields(owner) if field.name == name))
    return float(getattr(owner, name))


def test_every_row_of_the_table_is_read() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(lines) - 1  # the header


@pytest.mark.parametrize(("constant", "value"), ROWS)
def test_a_documented_bound_is_the_one_in_the_code(constant: str, value: float) -> None:
    assert _value_of(constant) == value
