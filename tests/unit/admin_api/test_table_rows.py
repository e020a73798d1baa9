import pytest
from markupsafe import Markup, escape

from admin_api.table_rows import rows_as_cards

_COLUMNS = ("Time", "Call", "")


def test_each_cell_names_its_column_and_the_leading_one_does_not() -> None:
    body = Markup(
        '<tr data-row="1"><td class="r">now</td><td class="wire">http.get</td><td><button>End</button></td></tr>'
    )
    assert rows_as_cards(body, _COLUMNS, "Call") == (
        '<tr role="row" data-row="1"><td role="cell" data-label="Time" class="r">now</td>'
        '<td role="cell" class="wire lead">http.get</td><td role="cell" class="acts"><button>End</button></td></tr>'
    )


@pytest.mark.parametrize(
    ("content", "is_nothing"),
    [
        ("\N{EN DASH}", True),
        ("", True),
        ('<span class="muted">\N{EN DASH}</span>', True),
        ("0", False),
        ('<input name="priority">', False),
    ],
)
def test_a_cell_without_content_is_marked(content: str, is_nothing: bool) -> None:
    row = rows_as_cards(Markup(f"<tr><td>{content}</td><td>a</td></tr>"), ("Size", "Name"), "Name")  # noqa: S704
    assert ('class="none"' in row) is is_nothing


def test_text_that_looks_like_a_cell_is_none() -> None:
    hostile = escape("</td><td class=lead></tr>")
    row = rows_as_cards(Markup(f'<tr><td title="{hostile}">{hostile}</td></tr>'), ("Name",), "Name")  # noqa: S704
    assert row.count("<td") == row.count("</td>") == 1


def test_a_row_has_as_many_cells_as_there_are_columns() -> None:
    with pytest.raises(ValueError, match="a row has 1 cells, the table 3 columns"):
        rows_as_cards(Markup("<tr><td>now</td></tr>"), _COLUMNS, "Call")


def test_the_leading_column_is_one_of_the_columns() -> None:
    with pytest.raises(ValueError, match="no column is named 'Host'"):
        rows_as_cards(Markup(""), _COLUMNS, "Host")
