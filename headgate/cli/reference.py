"""docs/reference/cli.md, made from the commands themselves: ``python -m headgate.cli.reference``."""

import sys
from collections.abc import Iterator

import click

from headgate.cli.main import headgate

_HEAD = """\
# Commands

The `--help` text of every command. `python -m headgate.cli.reference` generates this page; a test compares the two.
Client commands find the instance by `--runtime-file`, `HEADGATE_RUNTIME_FILE`, `HEADGATE_API_URL` with
`HEADGATE_TOKEN`, `./.headgate` if this user has started it, or the data directory of this user, in this order. Commands
that delete something ask first: `--yes` answers, and is required without a terminal.
"""
_WIDTH = 100


def cli_reference() -> str:
    """The page, as Markdown."""
    context = click.Context(headgate, info_name="headgate", terminal_width=_WIDTH, help_option_names=["-h", "--help"])
    return _HEAD + "".join(_sections(headgate, context))


def _sections(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"\n## {context.command_path}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            one = command.get_command(context, name)
            if one is not None:
                inner = click.Context(one, parent=context, info_name=name, terminal_width=_WIDTH)
                yield from _sections(one, inner)


if __name__ == "__main__":
    sys.stdout.write(cli_reference())
