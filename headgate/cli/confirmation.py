"""The question that a command asks before it deletes something, and ``--yes``, which answers it (decision 0124)."""

import sys
from collections.abc import Callable

import click


def yes_option[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """``--yes``, the same for every command that deletes something."""
    said = "Do not ask for confirmation. Required without a terminal."
    return click.option("--yes", is_flag=True, help=said)(command)


def confirm(question: str, *, yes: bool = False, option: str = "--yes") -> None:
    """Asks on a terminal. Raises click.Abort where the answer is no, and click.UsageError where nobody can answer: it
    names the option that answers beforehand.

    An end of input would be an answer, and a script that pipes its input would lose a line of it.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.UsageError(f"{question} There is no terminal to ask on: repeat the command with {option}.")
    click.confirm(question, abort=True, err=True)
