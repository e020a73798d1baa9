"""Tables and documents for a terminal. What agents sent is shown as text, never as what a terminal obeys."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

import click

_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def safe(value: object) -> str:
    """Control, format and direction characters made visible: an escape sequence in an agent's params could
    otherwise rewrite what the reviewer sees (CWE-150)."""
    return "".join(
        f"\\u{{{ord(character):x}}}" if unicodedata.category(character) in _HIDDEN else character
        for character in ("" if value is None else str(value))
    )


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
