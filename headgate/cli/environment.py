"""``headgate env`` and ``headgate run``: programs whose calls go through the gate."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import click

from headgate.cli.client_environment import client_environment
from headgate.cli.containers import CONTAINER_FORMATS, FILES_AT
from headgate.cli.gate_of_agent import find_gate, is_of_this_machine, public_proxy
from headgate.cli.shells import FORMATS, render, require_printable
from headgate.cli.tables import show_json
from headgate.cli.target import result_option, runtime_file_option
from headgate.cli.trust_files import make_container_files, make_trust_files
from headgate.kernel.errors import NotFoundError


@click.command()
@click.option("--format", "form", type=click.Choice([*FORMATS, *CONTAINER_FORMATS]), default="sh", show_default=True)
@result_option
@runtime_file_option
def env(form: str, as_json: bool, runtime_file: Path | None) -> None:
    """Print the variables that route a program's HTTP calls through Headgate.

    For a shell: eval "$(headgate env)". The forms docker, compose and k8s are for an agent's container, with the files
    that the variables name. The output contains the agent's key: treat it as a secret.
    """
    if form in CONTAINER_FORMATS:
        variables, files = _container(runtime_file)
        text = CONTAINER_FORMATS[form](variables, files)
    else:
        variables = _variables(runtime_file)
        text = render(variables, form)
    if as_json:
        show_json(variables)
        return
    click.echo(text, nl=False)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@runtime_file_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(runtime_file: Path | None, command: tuple[str, ...]) -> None:
    """Run COMMAND with the variables of headgate env: headgate run -- python my_agent.py"""
    program = shutil.which(command[0])
    if program is None:
        raise NotFoundError(f"program not found: {command[0]}")
    os.execve(program, list(command), {**os.environ, **_variables(runtime_file)})  # noqa: S606 - what was asked for


def _container(runtime_file: Path | None) -> tuple[dict[str, str], Path]:
    """The variables, whose files a container sees elsewhere, and the folder of these files here."""
    access = find_gate(runtime_file)
    # The runtime file has the address for this machine.
    access = replace(access, proxy_url=public_proxy(access))
    files, shown = make_container_files(Path(access.ca_cert), FILES_AT)
    if is_of_this_machine(access.proxy_url):
        click.echo(
            f"warning: a container reaches the proxy at {access.proxy_url} only in the network of its host. Set"
            " HEADGATE_PUBLIC_PROXY_URL for the gate",
            err=True,
        )
    variables = client_environment(access, shown)
    require_printable(variables)
    return variables, files


def _variables(runtime_file: Path | None) -> dict[str, str]:
    access = find_gate(runtime_file)
    return client_environment(access, make_trust_files(Path(access.ca_cert)))
