"""Every command prints its result as JSON, too. The others are named here, with the reason."""

from collections.abc import Iterator

import click
import pytest

from headgate.cli.main import headgate

_SERVES = "runs until it is stopped, and writes logs"
WITHOUT = {
    "run": "becomes another program",
    "mcp": "writes what the server writes",
    "demo": "shows a story to a person",
    "witness": _SERVES, "api": _SERVES, "proxy": _SERVES, "worker": _SERVES, "masker": _SERVES,
}  # fmt: skip


def _commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, (*words, name))
        else:
            yield " ".join((*words, name)), command


PARAMETERS = {name: {parameter.name for parameter in command.params} for name, command in _commands(headgate)}


@pytest.mark.parametrize("name", sorted(set(PARAMETERS) - set(WITHOUT)))
def test_a_command_prints_json(name: str) -> None:
    assert "as_json" in PARAMETERS[name]


def test_the_exceptions_are_exceptions() -> None:
    assert len(PARAMETERS) > 150
    assert all("as_json" not in PARAMETERS[name] for name in WITHOUT)
