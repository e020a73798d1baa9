"""``headgate env`` and ``headgate run``: programs whose calls go through the gate."""

import os
import shutil
from pathlib import Path

import click

from headgate.cli.client_environment import client_environment
from headgate.cli.shells import FORMATS, render
from headgate.cli.tables import show_json
from headgate.cli.target import find_instance, result_option, runtime_file_option
from headgate.cli.trust_files import make_trust_files
from headgate.kernel.errors import NotFoundError


@click.command()
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="sh", show_default=True)
@result_option
@runtime_file_option
def env(form: str, as_json: bool, runtime_file: Path | None) -> None:
    """Print the variables that route a program's HTTP calls through Headgate.

    For a shell: eval "$(headgate env)". The output contains the agent's key: treat it as a secret.
    """
    variables = _variables(runtime_file)
    if as_json:
        show_json(variables)
        return
    click.echo(render(variables, form), nl=False)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@runtime_file_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(runtime_file: Path | None, command: tuple[str, ...]) -> None:
    """Run COMMAND with the variables of headgate env: headgate run -- python my_agent.py"""
    program = shutil.which(command[0])
    if program is None:
        raise NotFoundError(f"program not found: {command[0]}")
    os.execve(program, list(command), {**os.environ, **_variables(runtime_file)})  # noqa: S606 - what was asked for


def _variables(runtime_file: Path | None) -> dict[str, str]:
    instance = find_instance(runtime_file)
    return client_environment(instance, make_trust_files(Path(instance.ca_cert)))
