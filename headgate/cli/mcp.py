"""``headgate mcp``: an MCP server of the stdio transport, started behind the gate."""

import asyncio
import os
import sys
from pathlib import Path, PurePath

import click

from headgate.cli.gate_of_agent import find_gate
from headgate.cli.target import runtime_file_option
from headgate.kernel.call_name import fits
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.protocols.names import fit_name


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--name", help="Name of the server in policies and actions: mcp_NAME. Default: the program's name.")
@click.option(
    "--hold-seconds",
    type=click.FloatRange(0, 86_400),
    default=50,
    show_default=True,
    help="How long a call waits for its approval before the client gets an error.",
)
@runtime_file_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def mcp(name: str | None, hold_seconds: float, runtime_file: Path | None, command: tuple[str, ...]) -> None:
    """Run an MCP server whose messages are decided by policies: headgate mcp -- npx some-server

    An MCP client starts this command instead of COMMAND. It uses HEADGATE_API_URL and HEADGATE_AGENT_KEY (headgate env
    prints both), or else the gate that headgate run would use.
    """
    server = f"mcp_{fit_name(name or PurePath(command[0]).name)}"
    if not fits(server):
        raise ValidationError(f"the name {name or command[0]} is too long: give a shorter one with --name")
    from headgate.mcp_stdio.serve import Wrapped, serve  # noqa: PLC0415 - httpx takes longer to import than all the rest

    api_url, agent_key = _agent(runtime_file)
    status = asyncio.run(serve(Wrapped(server, command, api_url, agent_key, hold_seconds), _warn))
    sys.exit(status)


def _agent(runtime_file: Path | None) -> tuple[str, Secret]:
    url, key = os.environ.get("HEADGATE_API_URL"), os.environ.get("HEADGATE_AGENT_KEY")
    if runtime_file is None and url and key:
        return url, Secret(key)
    access = find_gate(runtime_file)
    return access.api_url, access.agent_key


def _warn(text: str) -> None:
    """Standard output carries messages only (MCP, "stdio")."""
    click.echo(f"headgate mcp: {text}", err=True)
