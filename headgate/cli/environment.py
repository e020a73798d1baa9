"""``headgate env`` and ``headgate run``: programs whose calls go through the gate."""

import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click
from msgspec.structs import replace

from headgate.cli.client_environment import client_environment, program_environment
from headgate.cli.containers import CONTAINER_FORMATS, FILES_AT
from headgate.cli.gate_of_agent import find_gate, is_of_this_machine, public_proxy
from headgate.cli.shells import FAILED, FORMATS, render, require_printable
from headgate.cli.tables import show_json
from headgate.cli.target import result_option, runtime_file_option
from headgate.cli.trust_files import make_container_files, make_trust_files
from headgate.kernel.errors import HeadgateError, NotFoundError, ValidationError


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
        try:
            variables = _variables(runtime_file)
            text = render(variables, form)
        except HeadgateError:
            click.echo("" if as_json else FAILED[form], nl=False)
            raise
    if as_json:
        show_json(variables)
        return
    click.echo(text, nl=False)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--isolate", is_flag=True, help="Give COMMAND no network but the proxy (Linux).")
@runtime_file_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(isolate: bool, runtime_file: Path | None, command: tuple[str, ...]) -> None:
    """Run COMMAND with the variables of headgate env: headgate run -- python my_agent.py

    With --isolate, programs that ignore these variables cannot bypass the proxy: COMMAND and its child processes have
    their own network, whose only exit is the proxy. COMMAND gets no credential of Headgate but the agent's key:
    HEADGATE_TOKEN and other settings are not passed on.
    """
    program = shutil.which(command[0])
    if program is None:
        raise NotFoundError(f"program not found: {command[0]}")
    if isolate:
        from headgate.runtime.isolation import run_isolated  # noqa: PLC0415 - loaded by this option only

        variables, exits = _isolated(runtime_file)
        sys.exit(run_isolated([program, *command[1:]], program_environment(os.environ, variables), exits))
    variables = program_environment(os.environ, _variables(runtime_file))
    os.execve(program, list(command), variables)  # noqa: S606 - what was asked for


def _isolated(runtime_file: Path | None) -> tuple[dict[str, str], dict[int, tuple[str, int]]]:
    """The variables of a program that reaches 127.0.0.1 only, and what its ports there lead to. Raises
    ValidationError."""
    access = find_gate(runtime_file)
    proxy = urlsplit(access.proxy_url)
    if proxy.scheme != "http" or not proxy.hostname:
        raise ValidationError(f"--isolate needs a proxy at http://, not {access.proxy_url}")
    port = proxy.port or 80
    exits = {port: (proxy.hostname, port)}
    inside = replace(access, proxy_url=f"http://127.0.0.1:{port}")
    variables = client_environment(inside, make_trust_files(Path(access.ca_cert)))
    api = urlsplit(access.api_url)
    if api.scheme == "http" and api.hostname and is_of_this_machine(access.api_url) and api.port not in (None, port):
        exits[api.port or 80] = (api.hostname, api.port or 80)
    else:
        # The proxy lets the API's own address through.
        variables |= {"NO_PROXY": "", "no_proxy": ""}
    return variables, exits


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
