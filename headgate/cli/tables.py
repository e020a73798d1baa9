"""Tables and documents for a terminal. What agents sent is shown as text, never as what a terminal obeys."""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

import click

from headgate.cli import terminal
from headgate.kernel.visible_text import visible

_NARROWEST: Final = 5
_ID: Final = re.compile("[a-z]{3}_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\S*")
_FIRM: Final = re.compile(rf"(?:{_ID.pattern}|{_TIME.pattern}|[0-9-]*)")


def safe(value: object) -> str:
    """As ``visible``: an escape sequence in an agent's params could rewrite what the reviewer sees (CWE-150)."""
    return visible("" if value is None else str(value))


def counted(number: int, word: str) -> str:
    """1 session, 2 sessions."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns as wide as what is in them; two spaces between. On a terminal ids and times are shortened, long cells are
    cut to its width, empty columns are left out, and states have colors. Elsewhere everything is whole."""
    lines = [tuple(columns), *(tuple(safe(cell) for cell in row) for row in rows)]
    widths = [max(_columns(line[index]) for line in lines) for index in range(len(columns))]
    if (most := terminal.width()) is not None:
        used = [index for index in range(len(columns)) if any(line[index] for line in lines[1:])]
        lines = [tuple(line[index] for index in used) for line in lines]
        firm = [all(_FIRM.fullmatch(line[index]) for line in lines[1:]) for index in range(len(used))]
        lines = [tuple(_short(cell) for cell in line) for line in lines]
        widths = [max(_columns(line[index]) for line in lines) for index in range(len(used))]
        widths = _fitting(widths, firm, most)
    for line in lines:
        cells = [(cell, _padded(_cut(cell, width), width)) for cell, width in zip(line, widths, strict=True)]
        last = len(cells) - 1
        shown = (text.rstrip() if index == last else text for index, (_, text) in enumerate(cells))
        words = (terminal.colored(cell, text) for (cell, _), text in zip(cells, shown, strict=True))
        click.echo("  ".join(words).rstrip())


def show_line(cells: Iterable[object]) -> None:
    """A row of what comes one after another, cut to the terminal's width."""
    text = "  ".join(safe(cell) for cell in cells)
    click.echo(text if (most := terminal.width()) is None else _cut(text, most))


def _fitting(wanted: Sequence[int], firm: Sequence[bool], most: int) -> list[int]:
    """The widest column gives first, until all fit. Ids and times stay whole while another column can give; then the
    last of them give, too."""
    widths = list(wanted)
    able = [index for index, is_firm in enumerate(firm) if not is_firm]
    while (over := sum(widths) + 2 * (len(widths) - 1) - most) > 0:
        widest = max(able, key=lambda index: widths[index], default=None)
        if widest is None or widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    for index in reversed(range(1, len(widths))):
        given = max(0, min(over, widths[index] - _NARROWEST))
        widths[index] -= given
        over -= given
    return widths


def _columns(text: str) -> int:
    """As terminals count (Unicode Standard Annex 11): ideographs take two columns, combining characters none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(one) in {"Mn", "Me"} else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in text
    )


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _columns(text))


def _cut(cell: str, width: int) -> str:
    if _columns(cell) <= width:
        return cell
    kept = cell[: width - 1]
    while _columns(kept) > width - 1:
        kept = kept[:-1]
    return kept + "…"


def _short(cell: str) -> str:
    """``apr_01a2…bed3``, which commands take; a time to the second, without the year and the T."""
    if _ID.fullmatch(cell):
        return f"{cell[:8]}…{cell[-4:]}"
    return f"{cell[5:10]} {cell[11:19]}" if _TIME.fullmatch(cell) else cell


def show_json(document: object) -> None:
    """ASCII only: every other character is escaped, for the same reason."""
    click.echo(json.dumps(document, indent=2))


def show_json_line(document: object) -> None:
    """One object a line, as it comes (JSON lines)."""
    click.echo(json.dumps(document))


def show_fields(fields: Iterable[tuple[str, object]]) -> None:
    """One line a field that has a value."""
    shown = [(name, safe(value)) for name, value in fields if value is not None]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        click.echo(f"{name.ljust(width)}  {value}")
