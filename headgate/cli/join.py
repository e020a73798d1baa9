"""``headgate join`` and ``headgate leave``: a machine whose agents use a gate elsewhere."""

import os
import shutil
import sys
from pathlib import Path

import click

from headgate.cli.command_name import command_name
from headgate.cli.diagnosis import check_proxy
from headgate.cli.finding import Verdict
from headgate.cli.gate_of_agent import FINGERPRINTS_VARIABLE, ask_gate, require_safe
from headgate.cli.tables import safe, show_json
from headgate.cli.target import result_option
from headgate.kernel.errors import NotFoundError, UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.agent_access import joined_folder, write_access


@click.command()
@click.argument("url")
@click.option(
    "--key", help="The agent's key; - reads it from standard input. Default: HEADGATE_AGENT_KEY, or a prompt."
)
@click.option(
    "--ca-sha256",
    "fingerprints",
    metavar="HEX",
    multiple=True,
    envvar=FINGERPRINTS_VARIABLE,
    help=f"Trust only this certificate authority ({FINGERPRINTS_VARIABLE}). Required if URL is not https, except"
    " on this machine.",
)
@result_option
def join(url: str, key: str | None, fingerprints: tuple[str, ...], as_json: bool) -> None:
    """Use the gate whose API is at URL for the agents of this machine.

    Afterwards headgate env, run and doctor work here without a runtime file. The agent's key is kept in a file of mode
    0600.
    """
    require_safe(url, fingerprints)
    folder = joined_folder()
    access = ask_gate(url, _key(key), fingerprints, folder)
    found = check_proxy(access.proxy_url, Path(access.ca_cert))
    if found.verdict is Verdict.WRONG:
        raise UnavailableError(found.text)
    write_access(folder, access)
    if as_json:
        show_json({"agent_id": access.agent_id, "proxy_url": access.proxy_url, "ca_cert": access.ca_cert})
        return
    click.echo(f"joined {safe(access.api_url)} as {safe(access.agent_id)}, with the proxy {safe(access.proxy_url)}")
    click.echo(f"Run a program through it: {command_name()} run -- COMMAND …")


@click.command()
@result_option
def leave(as_json: bool) -> None:
    """Forget the gate that this machine has joined, with the agent's key. The key stays valid."""
    folder = joined_folder()
    if not folder.exists():
        raise NotFoundError("this machine has not joined a gate")
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise UnavailableError(f"{folder} cannot be removed ({error.strerror})") from error
    if as_json:
        show_json({"left": True})
        return
    click.echo("left. Revoke the key where nothing else uses it: headgate keys revoke")


def _key(given: str | None) -> Secret:
    if given == "-":
        given = sys.stdin.readline().strip()
    given = given or os.environ.get("HEADGATE_AGENT_KEY")
    if not given and not sys.stdin.isatty():
        raise click.UsageError(
            "The agent's key is missing. Give it with --key - (standard input) or HEADGATE_AGENT_KEY."
        )
    return Secret(given or click.prompt("Key", hide_input=True, err=True))
