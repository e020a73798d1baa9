"""``headgate siem``: where recorded events are streamed to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import json_option
from headgate.client import operations
from headgate.kernel.errors import NotFoundError

if TYPE_CHECKING:
    from headgate.client.types import StreamAnswer, StreamsAnswer


@click.group()
def siem() -> None:
    """Stream audit events to a SIEM, as OCSF."""


@siem.command("list")
@json_option
@client_option
def list_all(client: ApiClient, as_json: bool) -> None:
    """List the destinations with their progress."""
    answer = client.send(operations.get_settings_siem)
    if as_json:
        show_json(answer)
    elif not answer["destinations"]:
        click.echo("no destinations. Create one with headgate siem set NAME ADDRESS")
    else:
        show_table(
            ("NAME", "STATE", "BEHIND", "ADDRESS"),
            ((name, _state(one), _behind(one), one["address"]) for name, one in answer["destinations"].items()),
        )


@siem.command("set")
@click.argument("name")
@click.argument("address")
@click.option(
    "--authorization-file",
    type=click.File("r"),
    help="File with the value of the Authorization header, for https. - reads standard input.",
)
@click.option("--from-beginning", is_flag=True, help="A new destination receives all recorded events.")
@click.option("--off", is_flag=True, help="Keep the destination, but send nothing.")
@json_option
@client_option
def set_destination(
    client: ApiClient, name: str, address: str, authorization_file: Any, from_beginning: bool, off: bool, as_json: bool
) -> None:
    """Create or change a destination: syslog+tls://host:6514, syslog+tcp://host:601, https://host/path, or "file:",
    a file in the workers' HEADGATE_SIEM_FOLDER."""
    answer, tag = client.tagged(operations.get_settings_siem)
    destinations = _as_set(answer)
    entry: dict[str, object] = {"address": address, "enabled": not off}
    entry["from"] = "beginning" if from_beginning else "now"
    if authorization_file is not None:
        entry["authorization"] = authorization_file.read().strip()
    changed = client.send(operations.put_settings_siem, {"destinations": destinations | {name: entry}}, if_match=tag)
    if as_json:
        show_json(changed)
        return
    click.echo(f"{safe(name)}: {safe(address)}. headgate siem list shows its progress")


@siem.command()
@click.argument("name")
@yes_option
@json_option
@client_option
def remove(client: ApiClient, name: str, yes: bool, as_json: bool) -> None:
    """Remove the destination NAME and its position in the log."""
    answer, tag = client.tagged(operations.get_settings_siem)
    destinations = _as_set(answer)
    if destinations.pop(name, None) is None:
        raise NotFoundError(f"No SIEM destination {name}. headgate siem list shows all.")
    confirm(f"Remove the SIEM destination {safe(name)} and its position in the log?", yes=yes)
    changed = client.send(operations.put_settings_siem, {"destinations": destinations}, if_match=tag)
    if as_json:
        show_json(changed)
        return
    click.echo(f"removed {safe(name)}")


def _as_set(answer: StreamsAnswer) -> dict[str, object]:
    """The document that sets what is shown; authorizations that are left out stay."""
    return {
        name: {"address": one["address"], "enabled": one["enabled"], "from": one["from"]}
        for name, one in answer["destinations"].items()
    }


def _state(one: StreamAnswer) -> str:
    if not one["enabled"]:
        return "off"
    return "working" if one["failing_since"] is None else f"failing: {one['failure']}"


def _behind(one: StreamAnswer) -> str:
    return "-" if one["behind"] is None else str(one["behind"])
