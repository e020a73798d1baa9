"""Every command that shows an answer of the API prints it as JSON, too. The others are named here, with the reason."""

from collections.abc import Iterator

import click
import pytest

from headgate.cli.main import headgate

_FILE = "writes a file, or bytes"
_SECRET = "prints one secret or link and nothing else"
_SHELL = "is for a shell, or runs a program"
_HERE = "works on files or secrets of this machine"
_ALWAYS = "prints JSON"
WITHOUT = {
    "audit export": _FILE, "audit export-events": _FILE, "audit pack": _FILE, "audit monitor": _FILE,
    "ca export": _FILE, "ca show": _HERE, "ca rotate": _HERE, "reports download": _FILE, "traffic export": _FILE,
    "doctor": _HERE, "env": _SHELL, "run": _SHELL, "up": _SHELL,
    "login": _SECRET, "token": _SECRET, "mfa enrol": _SECRET, "mfa step-up": _SECRET,
    "integrations show": _ALWAYS, "policy pull": _FILE, "policy push": _HERE, "policy import": _HERE,
    "secrets status": _HERE, "secrets prepare": _HERE, "secrets rotate": _HERE, "secrets retire": _HERE,
    "tools check": _HERE, "tools import": _FILE, "traffic tail": "follows, a line for each exchange",
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


CALLING = {
    name: {parameter.name for parameter in command.params}
    for name, command in _commands(headgate)
    if any(parameter.name == "runtime_file" for parameter in command.params)
}


@pytest.mark.parametrize("name", sorted(set(CALLING) - set(WITHOUT)))
def test_a_command_prints_json(name: str) -> None:
    assert "as_json" in CALLING[name]


def test_the_exceptions_are_exceptions() -> None:
    assert len(CALLING) > 100
    assert {name for name in WITHOUT if "as_json" in CALLING.get(name, {"as_json"})} == set()
