"""Rows of a table that a phone shows as cards: each cell says which column it belongs to.

A style sheet that lays rows out as blocks takes the table's semantics away in some browsers, so that rows and cells
name their roles. Text in a table is escaped, so that a ``<td`` is always one of the template.
"""

import re
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape

_ROW: Final = re.compile(r"<tr\b(?P<attributes>[^>]*)>(?P<cells>.*?)</tr>", re.DOTALL)
_CELL: Final = re.compile(r"<td\b(?P<attributes>[^>]*)>(?P<content>.*?)</td>", re.DOTALL)
_TAG: Final = re.compile(r"<(?!input\b)[^>]*>")
_CLASS: Final = re.compile(r'\s*\bclass="([^"]*)"')
_NOTHING: Final = ("", "\N{EN DASH}")


def rows_as_cards(body: Markup, columns: Sequence[str], lead: str) -> Markup:
    """``body`` with roles, and in each cell the name of its column. ``columns``: an empty name is a column of buttons.

    ``lead``: the column that stands first in a card, without its name. Raises ValueError if a row has another number of
    cells than there are columns.
    """
    if lead not in columns:
        raise ValueError(f"no column is named {lead!r}: {', '.join(columns)}")
    grouped = str(body).replace("<tbody>", '<tbody role="rowgroup">')
    return Markup(_ROW.sub(lambda row: _row(row, columns, lead), grouped))  # noqa: S704 - the template's own markup


def _row(row: re.Match[str], columns: Sequence[str], lead: str) -> str:
    cells = _CELL.findall(row["cells"])
    if len(cells) != len(columns):
        raise ValueError(f"a row has {len(cells)} cells, the table {len(columns)} columns: {', '.join(columns)}")
    names = iter(columns)
    marked = _CELL.sub(lambda cell: _cell(cell, next(names), lead), row["cells"])
    return f'<tr role="row"{row["attributes"]}>{marked}</tr>'


def _cell(cell: re.Match[str], column: str, lead: str) -> str:
    kinds = _kinds(cell["content"], column, lead)
    attributes = cell["attributes"]
    if kinds:
        given = _CLASS.search(attributes)
        attributes = _CLASS.sub("", attributes) if given else attributes
        attributes += f' class="{f"{given[1]} " if given else ""}{kinds}"'
    label = f' data-label="{escape(column)}"' if column and column != lead else ""
    return f'<td role="cell"{label}{attributes}>{cell["content"]}</td>'


def _kinds(content: str, column: str, lead: str) -> str:
    if column == lead:
        return "lead"
    if _TAG.sub("", content).strip() in _NOTHING:
        return "none"
    return "" if column else "acts"
