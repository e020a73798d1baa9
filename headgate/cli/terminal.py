"""What the terminal can show: its width, and colors (https://no-color.org)."""

import os
import shutil
import sys
from typing import Final

import click

_COLORS: Final = {
    "allow": "green", "allowed": "green", "approve": "green", "approved": "green", "active": "green",
    "require_approval": "yellow", "pending": "yellow", "held": "yellow", "suspended": "yellow",
    "deny": "red", "denied": "red", "expired": "red", "critical": "red", "high": "red", "deactivated": "red",
    "failed": "magenta", "dead": "magenta",
}  # fmt: skip


def width() -> int | None:
    """Columns of the terminal; None: what is printed goes to a file or another program, whole."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def colored(word: str, text: str | None = None) -> str:
    """``text`` in the color of ``word``, on a terminal, where NO_COLOR is not set."""
    text = word if text is None else text
    color = _COLORS.get(word)
    if color is None or os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, fg=color)
