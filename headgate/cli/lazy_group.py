"""A group whose commands are imported when they are called.

A command that asks the API should not wait for what its neighbours import: the database's driver, the detectors.
"""

import importlib
from collections.abc import Mapping
from typing import Any, Final

import click

from headgate.kernel.loading import loading

type Place = tuple[str, str]
"""``module:attribute`` of a command, and its line in the group's overview."""


class LazyGroup(click.Group):
    """``elsewhere``: name → place. Commands that are added as usual stand beside them."""

    def __init__(self, *, elsewhere: Mapping[str, Place], **of_group: Any) -> None:
        super().__init__(**of_group)
        self._elsewhere: Final = elsewhere

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # click suggests one of the commands that it holds, which are not all.
            raise click.NoSuchCommand(error.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """As ``elsewhere`` has them; by name where there are others too."""
        return sorted({*self._elsewhere, *self.commands}) if self.commands else list(self._elsewhere)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._elsewhere:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._elsewhere[cmd_name][0].partition(":")
        with loading():
            command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}:{attribute} is not a command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        width = formatter.width - 6 - max(map(len, names))  # as click does
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (
                        name,
                        self._elsewhere[name][1]
                        if name in self._elsewhere
                        else self.commands[name].get_short_help_str(width),
                    )
                    for name in names
                ]
            )
