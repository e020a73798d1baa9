"""The page of figures can be read: short cells, one word for a missed target, and a list of all misses at its top."""

import re
from collections import Counter
from pathlib import Path
from typing import Final

PAGE: Final = (Path(__file__).parents[3] / "docs" / "figures.md").read_text("utf-8")
SECTIONS: Final = {
    title: text for title, _, text in (part.partition("\n") for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:])
}
CELL_MAX: Final = 250
NONE: Final = "\N{EN DASH}"
RESULTS: Final = {"met", "open", NONE}
MISSED: Final = re.compile(r"\*\*missed\*\*( at [\w ]+)?")
NUMBER: Final = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|\.\d+")


def _rows(text: str) -> list[list[str]]:
    """Cells of all tables, with their headers, without the lines below the headers."""
    lines = (line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _tables() -> list[tuple[str, list[list[str]]]]:
    """All tables: the anchor of their section, and their rows with the header."""
    tables = [(_anchor(title), _rows(block)) for title, text in SECTIONS.items() for block in text.split("\n\n")]
    return [(anchor, rows) for anchor, rows in tables if rows]


def _judged() -> list[tuple[str, list[list[str]]]]:
    """Tables whose last column is the result of their rows."""
    return [(anchor, rows) for anchor, rows in _tables() if rows[0][-1] == "result"]


def _missed() -> dict[str, list[list[str]]]:
    """The rows of each section that missed their target."""
    found: dict[str, list[list[str]]] = {}
    for anchor, rows in _judged():
        found.setdefault(anchor, []).extend(row for row in rows[1:] if MISSED.fullmatch(row[-1]))
    return {anchor: rows for anchor, rows in found.items() if rows}


LIST: Final = "Targets that are not reached"
LISTED: Final = [[part.rpartition("#")[2].rstrip(")"), *cells] for part, *cells in _rows(SECTIONS[LIST])[1:]]


def test_no_cell_is_a_diary() -> None:
    assert [cell for row in _rows(PAGE) for cell in row if len(cell) > CELL_MAX] == []


def test_a_row_has_one_of_four_results() -> None:
    rows = [row for _, table in _judged() for row in table[1:]]
    assert len(rows) > 200
    assert [row for row in rows if row[-1] not in RESULTS and MISSED.fullmatch(row[-1]) is None] == []


def test_a_table_with_targets_has_results() -> None:
    headers = [table[0] for anchor, table in _tables() if anchor != _anchor(LIST)]
    with_targets = [header for header in headers if any(cell.startswith("target") for cell in header)]
    assert len(with_targets) > 15
    assert [header for header in with_targets if header[-1] != "result"] == []


def test_a_row_has_a_result_if_it_has_a_target() -> None:
    tables = [table for _, table in _judged() if table[0][1].startswith("target")]
    assert len(tables) > 15
    assert [row for table in tables for row in table[1:] if (row[1] == NONE) is not (row[-1] == NONE)] == []


def test_the_list_counts_every_missed_row() -> None:
    listed: Counter[str] = Counter()
    for part, *_, count in LISTED:
        listed[part] += int(count)
    assert listed == {anchor: len(rows) for anchor, rows in _missed().items()}


def test_the_list_has_the_figures_of_the_rows() -> None:
    missed = _missed()
    sections = {_anchor(title): text for title, text in SECTIONS.items()}
    for part, what, target, measured, _ in LISTED:
        cells = " ".join(cell for row in missed[part] for cell in row)
        assert set(NUMBER.findall(measured)) <= set(NUMBER.findall(cells)), what
        assert set(NUMBER.findall(target)) <= set(NUMBER.findall(sections[part])), what
