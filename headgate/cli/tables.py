"""Tables and documents for a terminal. What agents sent is shown as text, never as what a terminal obeys."""

import json
from collections.abc import Iterable, Sequence

import click

from headgate.kernel.visible_text import visible


def safe(value: object) -> str:
    """As ``visible``: an escape sequence in an agent's params could rewrite what the reviewer sees (CWE-150)."""
    return visible("" if value is None else str(value))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns as wide as what is in them; two spaces between."""
    lines = [tuple(columns), *(tuple(safe(cell) for cell in row) for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def show_json(document: object) -> None:
    """ASCII only: every other character is escaped, for the same reason."""
    click.echo(json.dumps(document, indent=2))


def show_fields(fields: Iterable[tuple[str, object]]) -> None:
    """One line a field that has a value."""
    shown = [(name, safe(value)) for name, value in fields if value is not None]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        click.echo(f"{name.ljust(width)}  {value}")
